"""Rows of a rollout: what is trained, once, and what is not."""

import math
from itertools import chain
from typing import Any

import pytest

from tests.worker.environment.agent.surroundings import (
    SYSTEM,
    TASK,
    ask,
    assistant,
    graph,
    ids_of,
    open_call,
    reply,
    request,
    result,
    sampled,
)


def test_a_conversation_is_one_row_and_only_the_policys_tokens_are_trained() -> None:
    capture = graph()
    first = ask(capture, TASK)
    second = ask(capture, TASK, reply(first), result("2"))
    third = ask(capture, TASK, reply(first), result("2"), reply(second), {"role": "user", "content": "Go on"})
    (row,) = capture.capture().rows
    assert first.answer and second.answer and third.answer
    assert (row.calls, row.reason, row.share) == ((0, 1, 2), "first", 1.0)
    assert row.prompt_ids == ids_of([TASK])
    assert [segment.by for segment in row.completion] == ["policy", "tool", "policy", "user", "policy"]
    assert [segment.turn for segment in row.completion] == [0, 0, 1, 1, 2]
    assert row.prompt_ids + row.token_ids == third.prompt_ids + third.answer.token_ids
    trained = [token for token, mask in zip(row.token_ids, row.action_mask, strict=True) if mask]
    assert trained == [*first.answer.token_ids, *second.answer.token_ids, *third.answer.token_ids]


def test_a_fork_trains_nothing_that_the_first_branch_trains() -> None:
    capture = graph()
    root = ask(capture, TASK)
    ask(capture, TASK, reply(root), result("2"))
    fork = ask(capture, TASK, reply(root), result("3"))
    ask(capture, TASK, reply(root), result("3"), reply(fork), result("4"))
    main, branch = capture.capture().rows
    assert (main.calls, branch.calls) == ((0, 1), (2, 3))
    assert (main.branch, branch.branch, branch.reason) == (0, 1, "fork")
    assert branch.prompt_ids == fork.prompt_ids
    assert (main.share, branch.share) == (0.5, 0.5)


def test_shares_weigh_the_rows_of_a_rollout_like_one_row() -> None:
    """The mean over the tokens of a rollout is the mean of the rows' means, weighed with their shares."""
    capture = graph()
    root = ask(capture, TASK)
    for number, tokens in enumerate((1, 7, 40)):
        call = open_call(capture, TASK, reply(root), result(str(number)))
        capture.answer(call, sampled(call, assistant(f"{number}"), tokens=tokens))
    rows = capture.capture().rows
    losses = [
        [math.sin(token) for token, mask in zip(row.token_ids, row.action_mask, strict=True) if mask]
        for row in rows
    ]
    together = list(chain.from_iterable(losses))
    weighed = sum(row.share * sum(loss) / len(loss) for row, loss in zip(rows, losses, strict=True))
    assert len(rows) == 3 and len(together) == 51
    assert weighed == pytest.approx(sum(together) / len(together))


def test_an_answer_that_nobody_received_is_not_trained() -> None:
    capture = graph()
    lost = ask(capture, TASK)
    capture.abandon(lost)
    assert capture.capture().rows == ()
    assert capture.open(request(TASK, retry_count=1)) == (lost, False)
    assert [row.calls for row in capture.capture().rows] == [(0,)]


def test_an_answer_that_was_continued_was_received() -> None:
    capture = graph()
    call = ask(capture, TASK)
    capture.abandon(call)
    capture.cancel(open_call(capture, TASK, reply(call), result("2")))
    assert [row.calls for row in capture.capture().rows] == [(0,)]


def test_a_branch_continues_where_the_first_continuation_was_lost() -> None:
    capture = graph()
    root = ask(capture, TASK)
    capture.abandon(ask(capture, TASK, reply(root), result("2")))
    ask(capture, TASK, reply(root), result("3"))
    assert [row.calls for row in capture.capture().rows] == [(0, 2)]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"token_ids": ()}, "no_tokens"),
        ({"prompt_ids": (1, 2)}, "prompt_differs"),
        ({"version": 4}, "version_differs"),
        ({"sampler_logprobs": (-0.1,)}, "logprob_count"),
        ({"sampler_logprobs": (-0.1, math.nan, -0.1)}, "logprob_not_finite"),
        ({"sampler_logprobs": (-0.1, -math.inf, -0.1)}, "logprob_not_finite"),
        ({"sampler_logprobs": (-0.1, 0.1, -0.1)}, "logprob_positive"),
    ],
)
def test_a_faulty_answer_drops_its_branch_and_what_continues_it(changes: dict[str, Any], fault: str) -> None:
    capture = graph()
    root = ask(capture, TASK)
    ask(capture, TASK, reply(root), result("2"))
    wrong = open_call(capture, TASK, reply(root), result("3"))
    answer = sampled(wrong, assistant("wrong"))
    fields = {name: getattr(answer, name) for name in answer.__slots__}
    capture.answer(wrong, type(answer)(**(fields | changes)))
    for text in ("4", "5"):
        ask(capture, TASK, reply(root), result("3"), assistant("wrong"), result(text))
    ask(capture, SYSTEM, TASK)
    rest = capture.capture()
    assert [row.calls for row in rest.rows] == [(0, 1), (5,)]
    assert [row.branch for row in rest.rows] == [0, 1]
    assert sum(row.share for row in rest.rows) == pytest.approx(1)
    assert rest.dropped == ((2, fault),)
