"""What waits for a slow reader."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.backlog import JOIN_AT, Backlog, join_tokens
from runtime.events import Finished, Token, TokenLogprob

END = Finished(id=1, reason="stop", detail="eos")


def token(number: int) -> Token:
    return Token(1, f"{number} ", 2, [TokenLogprob(str(number), b"x", -1.0)])


@settings(deadline=None, max_examples=30)
@given(puts=st.lists(st.integers(0, 3 * JOIN_AT), max_size=4), ended=st.booleans())
def test_nothing_is_lost_in_whatever_portions_it_is_taken(puts: list[int], ended: bool) -> None:
    backlog = Backlog()
    taken: list[Token | Finished] = []
    total = 0
    for count in puts:
        for _ in range(count):
            backlog.put(token(total))
            total += 1
        taken += [item for item in backlog.take() if isinstance(item, Token | Finished)]
        assert len(backlog) == 0
    if ended:
        backlog.put(END)
        taken += [item for item in backlog.take() if isinstance(item, Token | Finished)]
    tokens = [item for item in taken if isinstance(item, Token)]
    assert "".join(item.text for item in tokens) == "".join(f"{n} " for n in range(total))
    assert sum(item.count for item in tokens) == 2 * total
    assert sum(len(item.logprobs) for item in tokens) == total
    assert taken[len(tokens) :] == [END] * ended


def test_few_events_wait_however_long_nobody_reads() -> None:
    backlog = Backlog()
    for number in range(100 * JOIN_AT):
        backlog.put(token(number))
    assert len(backlog) <= 100 + JOIN_AT


def test_a_quick_reader_gets_every_token_by_itself() -> None:
    backlog = Backlog()
    for number in range(5):
        backlog.put(token(number))
    backlog.put(END)
    assert backlog.take() == [*(token(number) for number in range(5)), END]
    assert backlog.take() == []


def test_joined_tokens_keep_their_log_probabilities_in_order() -> None:
    joined = join_tokens([token(1), token(2)])
    assert (joined.text, joined.count) == ("1 2 ", 4)
    assert [entry.token for entry in joined.logprobs] == ["1", "2"]
