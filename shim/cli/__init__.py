"""The command line: talks HTTP to a server as any client does, and starts one with `shim serve`."""
