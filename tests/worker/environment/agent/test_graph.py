"""Which calls continue which, and which requests are retries."""

from typing import Any

import pytest

from reinforge.errors import InvalidInput, StateConflict
from tests.worker.environment.agent.surroundings import (
    SYSTEM,
    TASK,
    Message,
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
from worker.environment.agent.calls import CaptureLimits

TOOLS = ({"type": "function", "function": {"name": "f"}},)


def called(arguments: str, **fields: Any) -> Message:
    return {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}],
        **fields,
    }


def test_a_call_reads_the_tokens_before_it_what_was_sampled_and_the_suffix() -> None:
    capture = graph()
    first = ask(capture, SYSTEM, TASK)
    second = ask(capture, SYSTEM, TASK, reply(first), result("2"))
    third = open_call(capture, SYSTEM, TASK, reply(first), result("2"), reply(second), result("3"))
    assert first.answer and second.answer
    assert third.reason == "continued"
    assert third.prompt_ids == (
        *ids_of([SYSTEM, TASK]),
        *first.answer.token_ids,
        *ids_of([result("2")]),
        *second.answer.token_ids,
        *ids_of([result("3")]),
    )


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (called('{"a": 1, "b": "é"}'), called('{"b":"\\u00e9","a":1}')),
        (called("{}", content=None), called("{}", content="", refusal=None, annotations=[])),
        (called('{"a": [1.0, {"b": -2.0}]}'), called('{"a":[1,{"b":-2}]}')),
        (called('{"a": 1}'), called('{"a": 1}', name="clerk", phase="final_answer")),
        (called("not {json"), called("not {json")),
        (called("[" * 5000), called("[" * 5000)),
        (
            assistant("ab"),
            assistant("", content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ),
        (assistant("a", reasoning_content="r"), assistant("a", reasoning="r")),
        (called("{}"), {**called("{}"), "tool_calls": [{**called("{}")["tool_calls"][0], "id": "other"}]}),
    ],
)
def test_another_spelling_of_an_answer_continues_it(answer: Message, sent: Message) -> None:
    capture = graph()
    call = open_call(capture, TASK)
    capture.answer(call, sampled(call, answer))
    assert open_call(capture, TASK, sent, result("2")).parent is call


SUMMARY = {"role": "user", "content": "Summary"}
HELPER = {"role": "system", "content": "Search."}
THOUGHT = assistant("a", reasoning_content="r")


@pytest.mark.parametrize(
    ("messages", "fields", "reason"),
    [
        ([SYSTEM, TASK, THOUGHT, result("2")], {"tools": TOOLS}, "continued"),
        ([SYSTEM, TASK, assistant("a"), result("2")], {"tools": TOOLS}, "reasoning_dropped"),
        ([SYSTEM, TASK, THOUGHT, result("2")], {}, "tools_changed"),
        ([SYSTEM, TASK], {}, "tools_changed"),
        ([SYSTEM, TASK, {**THOUGHT, "content": "b"}, result("2")], {"tools": TOOLS}, "history_rewritten"),
        ([SYSTEM, SUMMARY], {"tools": TOOLS}, "history_rewritten"),
        ([SYSTEM, TASK, THOUGHT, SYSTEM], {"tools": TOOLS}, "system_message"),
        ([HELPER, TASK], {"tools": TOOLS}, "sub_agent"),
        ([SYSTEM, TASK], {"tools": TOOLS, "parameters": {"top_p": 1}}, "sampled_again"),
    ],
)
def test_how_a_call_follows_another(messages: list[Message], fields: dict[str, Any], reason: str) -> None:
    capture = graph()
    first = open_call(capture, SYSTEM, TASK, tools=TOOLS)
    assert first.reason == "first"
    capture.answer(first, sampled(first, THOUGHT))
    call = open_call(capture, *messages, **fields)
    assert call.reason == reason
    if reason != "continued":
        assert call.prompt_ids == ids_of(messages)


def test_an_answer_that_is_continued_twice_is_forked() -> None:
    capture = graph()
    first = ask(capture, TASK)
    ask(capture, TASK, reply(first), result("2"))
    fork = open_call(capture, TASK, reply(first), result("3"))
    assert fork.reason == "fork" and fork.parent is first


def test_a_turn_that_is_sampled_again_reads_the_same_prompt() -> None:
    """The answers of the root are equal as messages and differ in tokens."""
    capture = graph()
    roots = [ask(capture, TASK, text="same", retry_count=0) for _ in range(2)]
    turn = ask(capture, TASK, reply(roots[0]), result("2"), retry_count=0)
    again = open_call(capture, TASK, reply(roots[0]), result("2"), retry_count=0)
    assert again.reason == "sampled_again"
    assert again.prompt_ids == turn.prompt_ids


def test_a_key_makes_a_retry_and_another_key_does_not() -> None:
    capture = graph()
    first = ask(capture, TASK, idempotency_key="a")
    ask(capture, TASK, reply(first), result("2"))
    assert capture.open(request(TASK, idempotency_key="a")) == (first, False)
    assert open_call(capture, TASK, idempotency_key="b").reason == "sampled_again"
    with pytest.raises(StateConflict) as refusal:
        capture.open(request(SYSTEM, TASK, idempotency_key="a"))
    assert refusal.value.code == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("state", "retry_count", "is_retry"),
    [
        ("unanswered", None, True),
        ("unanswered", 1, True),
        ("unanswered", 0, False),
        ("unused", None, True),
        ("unused", 1, True),
        ("unused", 0, False),
        ("used", None, False),
        ("used", 1, True),
        ("used", 0, False),
        ("abandoned", None, True),
        ("abandoned", 1, True),
        ("abandoned", 0, True),
        ("failed", None, False),
        ("failed", 1, False),
        ("other parameters", None, False),
        ("other parameters", 1, False),
    ],
)
def test_when_an_equal_request_is_a_retry(state: str, retry_count: int | None, is_retry: bool) -> None:
    capture = graph()
    parameters = {"top_p": 1} if state == "other parameters" else {}
    call = open_call(capture, TASK, parameters=parameters)
    if state == "failed":
        capture.cancel(call)
    elif state != "unanswered":
        capture.answer(call, sampled(call, assistant("a")))
    if state == "used":
        open_call(capture, TASK, assistant("a"), result("2"))
    if state == "abandoned":
        capture.abandon(call)
    other, new = capture.open(request(TASK, retry_count=retry_count))
    assert new is not is_retry
    assert (other is call) is is_retry


def test_a_turn_after_one_that_the_engine_could_not_answer_is_no_fork() -> None:
    capture = graph()
    first = ask(capture, TASK)
    failed = open_call(capture, TASK, reply(first), result("2"))
    capture.cancel(failed)
    assert open_call(capture, TASK, reply(first), result("2")).reason == "continued"


def test_a_request_that_the_engine_could_not_answer_keeps_its_place_when_it_is_sent_again() -> None:
    capture = graph()
    ask(capture, SYSTEM, TASK)
    capture.cancel(open_call(capture, HELPER, TASK))
    assert open_call(capture, HELPER, TASK).reason == "sub_agent"


@pytest.mark.parametrize("lost", [False, True])
def test_of_two_equal_answers_the_program_continues_the_one_that_is_unused_and_was_received(
    lost: bool,
) -> None:
    capture = graph()
    twins = [ask(capture, TASK, text="same", retry_count=0) for _ in range(2)]
    if lost:
        capture.abandon(twins[0])
    else:
        assert open_call(capture, TASK, reply(twins[0]), result("2")).parent is twins[0]
    call = open_call(capture, TASK, reply(twins[1]), result("3"))
    assert (call.parent, call.reason) == (twins[1], "continued")


def test_arguments_of_any_depth_are_compared() -> None:
    for levels in range(100, 1100):
        capture = graph()
        call = open_call(capture, TASK)
        answer = called("[" * levels + "]" * levels)
        capture.answer(call, sampled(call, answer))
        assert open_call(capture, TASK, answer, result("2")).parent is call


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (CaptureLimits(2, 100, 100), "max_model_calls"),
        (CaptureLimits(100, 6, 100), "max_policy_tokens"),
        (CaptureLimits(100, 100, 2), "max_branches"),
    ],
)
def test_a_call_beyond_a_limit_is_refused_by_its_name(limits: CaptureLimits, code: str) -> None:
    capture = graph(limits)
    ask(capture, TASK)
    second = ask(capture, SYSTEM, TASK)
    assert capture.limit is None
    with pytest.raises(StateConflict) as refusal:
        capture.open(request(HELPER, TASK))
    assert refusal.value.code == capture.limit == code
    assert refusal.value.hint
    assert capture.open(request(SYSTEM, TASK)) == (second, False), "a retry takes nothing"
    assert [row.calls for row in capture.capture().rows] == [(0,), (1,)]


def test_a_limit_of_branches_lets_conversations_continue() -> None:
    capture = graph(CaptureLimits(100, 100, 1))
    first = ask(capture, TASK)
    assert open_call(capture, TASK, reply(first), result("2")).reason == "continued"


def test_the_room_is_what_the_answers_leave() -> None:
    capture = graph(CaptureLimits(100, 4, 100))
    ask(capture, TASK)
    assert capture.room == 1
    call = open_call(capture, SYSTEM, TASK)
    capture.answer(call, sampled(call, assistant("long"), tokens=5))
    assert capture.room == 0


def test_a_rollout_that_has_ended_refuses_calls_and_ignores_late_answers() -> None:
    capture = graph()
    ask(capture, TASK)
    waiting = open_call(capture, SYSTEM, TASK)
    answer = sampled(waiting, assistant("late"))
    capture.close()
    capture.answer(waiting, answer)
    assert waiting.answer is None
    assert [row.calls for row in capture.capture().rows] == [(0,)]
    for messages in ([TASK], [HELPER]):
        with pytest.raises(StateConflict) as refusal:
            capture.open(request(*messages))
        assert refusal.value.code == "rollout_ended"


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "messages",
    [
        (),
        ("text",),
        ({"content": "no role"},),
        ({"role": ["user"]},),
        ({"role": "wizard", "content": "a"},),
        (TASK, {"role": "assistant", "content": "a"}),
        ({"role": "user", "content": nested(500)},),
    ],
)
def test_messages_that_cannot_be_answered_are_refused_and_leave_nothing(messages: tuple[Any, ...]) -> None:
    capture = graph()
    with pytest.raises(InvalidInput) as refusal:
        capture.open(request(*messages))
    assert refusal.value.code == "invalid_messages"
    assert capture.calls == ()
