"""Free ports of this machine, and waiting for a server to listen on one."""

import contextlib
import socket
import subprocess
import time


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, server: "subprocess.Popen[bytes]", *, seconds: float = 60) -> None:
    """Returns once somebody listens; raises if the server ends or takes too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with code {server.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port} after {seconds:.0f} s")
