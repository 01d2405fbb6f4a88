"""The server and its command line: Ollama's HTTP API over the other three packages.

The only package that imports `mirrors`, `modelfiles` and `runtime`; none of them imports it. Import the
modules themselves; nothing is re-exported here, so that `shim.cli.main` starts fast.
"""
