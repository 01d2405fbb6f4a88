"""Our engine alone, in this process: what the worker runs, without the socket and without HTTP."""

import time

import psutil

from bench.contenders import Setup
from bench.measures import Decoded, Memory, Prefilled, Stream
from modelfiles.gguf.reader import read_gguf
from runtime.engine import load_engine
from runtime.events import Failed, Finished, Submit, Token
from runtime.options import Constraint, LoadOptions, SamplingOptions


class OurEngine:
    """See `bench.contenders.Contender`."""

    def __init__(self, setup: Setup) -> None:
        architecture = str(read_gguf(setup.model).metadata["general.architecture"])
        options = LoadOptions(num_ctx=setup.num_ctx, num_parallel=setup.slots, num_thread=setup.threads)
        self._engine = load_engine(setup.model, architecture, options, lambda fraction: True)
        self._next_id = 1

    def decode(self, prompts: list[str], tokens: int) -> Decoded:
        before = self._engine.stats()
        streams = self._generate(prompts, _greedy(tokens))
        after = self._engine.stats()
        own_ns = (after.own_ns - before.own_ns) / max(1, after.steps - before.steps)
        return Decoded([stream for stream, _ in streams], own_ns / 1000)

    def prefill(self, prompt: str) -> Prefilled:
        ((stream, finished),) = self._generate([prompt], _greedy(1))
        return Prefilled(finished.prompt_tokens, finished.prompt_ns / 1e9, stream.arrivals[0])

    def memory(self) -> Memory:
        return Memory(0, psutil.Process().memory_info().rss)

    def close(self) -> None:
        self._engine.close()

    def decode_rate(
        self, prompts: list[str], sampling: SamplingOptions, constraint: Constraint | None
    ) -> float:
        """Tokens a second of all streams together, while they generate."""
        ended = [finished for _, finished in self._generate(prompts, sampling, constraint)]
        tokens = sum(finished.generated_tokens for finished in ended)
        return tokens / max(finished.generate_ns for finished in ended) * 1e9

    def _generate(
        self, prompts: list[str], sampling: SamplingOptions, constraint: Constraint | None = None
    ) -> list[tuple[Stream, Finished]]:
        ids = list(range(self._next_id, self._next_id + len(prompts)))
        self._next_id += len(prompts)
        arrivals: dict[int, list[float]] = {id_: [] for id_ in ids}
        done: dict[int, Finished] = {}
        began = time.perf_counter()
        for id_, prompt in zip(ids, prompts, strict=True):
            self._engine.submit(Submit(id_, prompt, sampling, constraint=constraint))
        while len(done) < len(ids):
            events = self._engine.wait_events(60)
            now = time.perf_counter() - began
            for event in events:
                if isinstance(event, Failed):
                    raise RuntimeError(event.message)
                if isinstance(event, Finished):
                    done[event.id] = event
                if isinstance(event, Token | Finished) and event.text:
                    arrivals[event.id].append(now)
        return [(Stream(done[id_].generated_tokens, arrivals[id_]), done[id_]) for id_ in ids]


def _greedy(tokens: int) -> SamplingOptions:
    return SamplingOptions(temperature=0, num_predict=tokens)
