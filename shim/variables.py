"""Every environment variable that the server and the commands know, with its default and meaning, as data.

The README's table is made from this (`python -m scripts.settings_table`), and tests hold that the code reads
exactly these. Reads nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """One setting. `name` has no prefix: it is read as SHIM_<name>, and as OLLAMA_<name> if that is Ollama's.

    `without_effect` is the reason why setting it changes nothing, where that is so.
    """

    name: str
    default: str
    meaning: str
    is_ollamas: bool = True
    without_effect: str = ""

    @property
    def ours(self) -> str:
        return f"SHIM_{self.name}"

    @property
    def ollamas(self) -> str:
        """Empty where Ollama has no such variable."""
        return f"OLLAMA_{self.name}" if self.is_ollamas else ""

    @property
    def names(self) -> tuple[str, ...]:
        """In the order in which they win."""
        return tuple(filter(None, (self.ours, self.ollamas)))


_DEVICES = "the engine's build decides which devices exist"
_BY_NUM_GPU = "layers are placed by num_gpu"

VARIABLES = (
    Variable("HOST", "127.0.0.1:11434", "address of the server, for the server and the commands"),
    Variable("MODELS", "~/.ollama/models", "folder of the models"),
    Variable("KEEP_ALIVE", "5m", "how long a model stays loaded; seconds or 1h30m, negative for ever"),
    Variable("LOAD_TIMEOUT", "5m", "how long a load may make no progress; 0 for any time"),
    Variable("CONTEXT_LENGTH", "4096", "context where neither model nor request says"),
    Variable(
        "NUM_PARALLEL", "0", "answers of one model at the same time; 0 takes 4, 2 or 1, as memory allows"
    ),
    Variable("MAX_LOADED_MODELS", "0", "models loaded at the same time; 0 decides by memory"),
    Variable("MAX_QUEUE", "512", "requests that may wait; more are refused with 503"),
    Variable("FLASH_ATTENTION", "the engine's", "1 or 0, where a model does not say"),
    Variable("KV_CACHE_TYPE", "f16", "number format of the context cache, where a model does not say"),
    Variable("GO_TEMPLATE", "the better one", "1 prefers a model's Go template, 0 the one in its GGUF file"),
    Variable("ORIGINS", "this machine's", "further web pages that may use the server, separated by commas"),
    Variable("NOPRUNE", "0", "1 keeps blobs that no model uses"),
    Variable("NOHISTORY", "0", "1 keeps no history of what is typed into `run`"),
    Variable("DEBUG", "0", "1 logs more"),
    Variable("DEBUG_LOG_REQUESTS", "0", "1 logs every request"),
    Variable("API_KEYS", "none", "keys that clients must send, separated by commas", is_ollamas=False),
    Variable("MAX_BODY_BYTES", "268435456", "largest JSON body", is_ollamas=False),
    Variable(
        "LLAMA_LIB",
        "the installed ones",
        "folder of other llama.cpp libraries of the same version",
        is_ollamas=False,
    ),
    Variable("ENGINE", "llama", "`fake` answers without weights, to try a client against", is_ollamas=False),
    Variable(
        "MIRRORS",
        "mirrors.json",
        "mirrors of registries and hubs: addresses with commas, or JSON; wins over `shim mirror`",
        is_ollamas=False,
    ),
    Variable("REGISTRIES", "none", "the same, under the name that some guides use"),
    Variable("DOWNLOAD_LIMIT", "0", "bytes a second for all pulls together; 0 for any", is_ollamas=False),
    Variable("DOWNLOAD_CONNECTIONS", "16", "connections at the same time for one file", is_ollamas=False),
    Variable("SERVE_STORE", "0", "1 lets other machines pull this one's models, by /v2/", is_ollamas=False),
    Variable("NO_CLOUD", "0", "1 says so in /api/status; there is no cloud here in any case"),
    Variable("SCHED_SPREAD", "0", "", without_effect=_BY_NUM_GPU),
    Variable("GPU_OVERHEAD", "0", "", without_effect=_BY_NUM_GPU),
    Variable("VULKAN", "auto", "", without_effect=_DEVICES),
    Variable("IGPU_ENABLE", "auto", "", without_effect=_DEVICES),
    Variable("LLM_LIBRARY", "auto", "", without_effect="see SHIM_LLAMA_LIB"),
    Variable("EDITOR", "none", "", without_effect="`run` takes its lines as they are typed"),
    Variable("REMOTES", "none", "", without_effect="there are no remote models"),
    Variable("AUTH", "0", "", without_effect="there is no account; see SHIM_API_KEYS"),
    Variable("MAX_TRANSFER_STREAMS", "4", "", without_effect="models of tensor layers are not transferred"),
)
