"""Which server the commands talk to."""

from shim.cli.client import Client
from shim.settings import settings_of_this_process


def connect() -> Client:
    """A client of the server that SHIM_HOST or OLLAMA_HOST names. Raises NoServer."""
    client = Client(settings_of_this_process().host)
    client.ping()
    return client
