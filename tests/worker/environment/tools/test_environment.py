"""How a rollout with tools ends, and what becomes of each call."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from reinforge.environment_spec import ToolsSpec
from reinforge.tool_calls import AssistantMessage, read
from tests.support.tool_texts import NOTE, PlainRunner
from worker.environment.base import Conversation, Prompt, Segment
from worker.environment.tools.base import ToolEnd, ToolReward, ToolStart
from worker.environment.tools.base import ToolRequest as Request
from worker.environment.tools.base import ToolResult as Result
from worker.environment.tools.environment import ToolsEnvironment
from worker.models.rendering import Conversation as Rendering
from worker.models.rendering import Rendered

CALL = '<tool_call>{"name": "note", "arguments": {"number": 5}}</tool_call>'
PROMPT = Prompt(0, {"n": 1}, [{"role": "user", "content": "go"}], "go", (1, 2, 3), "hash")


class ByteTexts:
    """Tokens are bytes."""

    parallel_calls = True

    def render(self, conversations: Sequence[Rendering], max_tokens: int) -> list[Rendered]:
        texts = ["".join(message["content"] for message in messages) for messages, _ in conversations]
        return [Rendered(text, tuple(text.encode()), len(text)) for text in texts]

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [bytes(ids).decode() for ids in rows]

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def read(self, text: str) -> AssistantMessage:
        return read(text, "hermes")

    def suffixes(self, turns: Sequence[tuple[Sequence[dict[str, Any]], int | None]]) -> list[tuple[int, ...]]:
        return [tuple("".join(f"<{m['content']}>" for m in row).encode()) for row, _ in turns]


class Runner(PlainRunner):
    """Returns `text` for every call."""

    def __init__(self, text: str = "noted", **fields: Any) -> None:
        super().__init__()
        self._text, self._fields = text, fields

    def run(self, requests: Sequence[Request]) -> list[Result]:
        self.requests.append(list(requests))
        return [replace(Result("ok", self._text, "state", 3.0), **self._fields) for _ in requests]


def environment(
    runner: PlainRunner | None = None,
    *,
    context: int = 1000,
    most: int = 500,
    stop_ids: Sequence[int] = (),
    **spec: Any,
) -> Any:
    source = {"type": "python", "source": NOTE}
    settings = ToolsSpec.model_validate({"type": "tools", "sources": [source], **spec})
    return ToolsEnvironment(
        settings, runner or Runner(), ByteTexts(), ByteTexts(), stop_ids=stop_ids, context=context, most=most
    )


def test_its_end_closes_the_sources_of_its_tools() -> None:
    runner = Runner()
    with closing(environment(runner)):
        assert not runner.closed
    assert runner.closed


def say(env: Any, *texts: str, end: str = "stop") -> Conversation:
    """The conversation after turns with these texts."""
    (conversation,) = asyncio.run(env.begin([Conversation(PROMPT, 0, 0, seed=7)]))
    for number, text in enumerate(texts):
        assert conversation.finish_reason is None
        segment = Segment(tuple(text.encode()), "policy", turn=number)
        written = replace(conversation, segments=(*conversation.segments, segment), text=text, turn_end=end)
        (conversation,) = asyncio.run(env.answer([written]))
    return conversation


def statuses(conversation: Conversation) -> list[str]:
    return [call.status for turn in conversation.turns for call in turn.calls]


def test_a_call_continues_with_its_result_and_an_answer_ends() -> None:
    ended = say(environment(), f"Let me see. {CALL}", "It is 5.")
    assert (ended.finish_reason, statuses(ended), ended.failure) == ("stop", ["ok"], None)
    authors = [(segment.by, bytes(segment.token_ids).decode()) for segment in ended.segments]
    assert authors == [("policy", f"Let me see. {CALL}"), ("tool", "<noted>"), ("policy", "It is 5.")]
    assert [message["role"] for message in ended.messages] == ["assistant", "tool", "assistant"]
    assert [(turn.start, turn.end) for turn in ended.turns] == [
        (0, len(authors[0][1])),
        (len(authors[0][1]) + 7, len(ended.token_ids)),
    ]


def test_the_end_of_a_turn_is_not_part_of_its_message() -> None:
    ended = say(environment(stop_ids=[ord("$")]), f"Let me see. {CALL}$", "It is 5 $.$")
    assert [message["content"] for message in ended.messages] == ["Let me see.", "noted", "It is 5 $."]


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("<tool_call>{not JSON</tool_call>", "invalid_json"),
        ('<tool_call>{"name": "rm", "arguments": {}}</tool_call>', "unknown_tool"),
        ('<tool_call>{"name": "note", "arguments": {"number": "five"}}</tool_call>', "bad_arguments"),
        ('<tool_call>{"name": "note", "arguments": {}}</tool_call>', "bad_arguments"),
    ],
)
def test_a_call_that_cannot_run_is_answered_or_ends_the_rollout(written: str, status: str) -> None:
    runner = Runner()
    answered = say(environment(runner), written)
    assert (answered.finish_reason, statuses(answered), runner.requests) == (None, [status], [])
    assert answered.turns[0].calls[0].result.startswith("Error: ")
    assert answered.segments[-1].by == "tool"
    assert say(environment(invalid_call="end"), written).finish_reason == "environment"


@pytest.mark.parametrize(
    ("policy", "end", "failure"),
    [("tell", None, None), ("end", "environment", None), ("drop", "environment", "tool_timeout")],
)
def test_a_tool_that_fails(policy: str, end: str | None, failure: str | None) -> None:
    answered = say(environment(Runner("Error: slow", status="timeout"), tool_failure=policy), CALL)
    assert (answered.finish_reason, answered.failure) == (end, failure)
    assert statuses(answered) == ["timeout"]


def test_a_tool_that_is_not_deterministic_drops_the_rollout() -> None:
    answered = say(environment(Runner(finding="tool_not_deterministic")), CALL)
    assert (answered.finish_reason, answered.failure) == ("environment", "tool_not_deterministic")


def test_a_turn_that_is_cut_off_ends_the_rollout_and_runs_nothing() -> None:
    runner = Runner()
    ended = say(environment(runner), CALL, end="length")
    assert (ended.finish_reason, statuses(ended), runner.requests) == ("length", [], [])


def test_limits_of_turns_and_calls() -> None:
    ended = say(environment(max_turns=2), CALL, CALL)
    assert (ended.finish_reason, statuses(ended), ended.segments[-1].by) == (
        "max_turns",
        ["ok", "ok"],
        "policy",
    )
    runner = Runner()
    ended = say(environment(runner, max_tool_calls=3), CALL * 2, CALL * 2)
    assert (ended.finish_reason, statuses(ended)) == ("max_tool_calls", ["ok", "ok", "ok", "too_many"])
    assert [len(requests) for requests in runner.requests] == [2, 1]


def test_calls_of_later_turns_know_the_state_and_the_calls_before() -> None:
    runner = Runner()
    say(environment(runner), CALL, CALL)
    first, second = (requests[0] for requests in runner.requests)
    assert (first.state, first.history, second.state) == (None, (), "state")
    assert [(call.name, call.text, call.arguments) for call in second.history] == [
        ("note", "noted", {"number": 5})
    ]
    assert first.seed == second.seed == 7


def test_the_next_turn_has_the_room_that_is_left() -> None:
    env = environment(most=200, context=1000)
    answered = say(env, CALL)
    assert env.room(answered) == 200 - len(CALL)
    assert environment(most=200, max_turn_tokens=20).room(answered) == 20
    assert say(environment(most=len(CALL)), CALL).finish_reason == "length"
    full = say(environment(context=3 + len(CALL) + 7), CALL)
    assert (full.finish_reason, full.segments[-1].by) == ("context", "policy")
    assert environment(context=3 + len(CALL) + 8).room(say(environment(context=3 + len(CALL) + 8), CALL)) == 1


def test_a_long_result_is_cut_in_the_middle_and_says_so() -> None:
    answered = say(environment(Runner("a" * 50 + "b" * 50), max_result_tokens=20), CALL)
    call = answered.turns[0].calls[0]
    assert (call.result, call.cut) == ("a" * 10 + "\n[80 tokens left out]\n" + "b" * 10, True)
    exact = say(environment(Runner("é" * 8), max_result_tokens=16), CALL).turns[0].calls[0]
    assert (exact.result, exact.cut) == ("é" * 8, False)


def test_a_result_cut_within_a_character_stays_text() -> None:
    class Lenient(ByteTexts):
        def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
            return [bytes(ids).decode(errors="replace") for ids in rows]

    env = environment(Runner("é" * 40), max_result_tokens=17)
    env._texts = Lenient()
    call = say(env, CALL).turns[0].calls[0]
    assert call.cut
    json.dumps(call.result).encode()


class Game(Runner):
    def start(self, rollouts: Sequence[ToolStart]) -> list[Result]:
        return [Result("ok", "The board is empty.", "begun", 1.0) for _ in rollouts]

    def reward(self, rollouts: Sequence[ToolEnd]) -> list[ToolReward]:
        return [ToolReward("ok", float(len(rollout.history)), 1.0) for rollout in rollouts]


GAME = '''
class Game:
    def reset(self, **row) -> str:
        return "The board is empty."

    def note(self, number: int) -> str:
        """Take a note."""
'''


def test_a_class_shows_its_first_observation_and_scores_the_rollout() -> None:
    env = environment(Game(), sources=[{"type": "class", "source": GAME}])
    ended = say(env, CALL, "done")
    assert ended.prompt.messages[-1]["content"] == "go\n\nThe board is empty."
    assert ended.prompt.token_ids == tuple(b"go\n\nThe board is empty.")
    assert ended.prompt.prompt_hash == PROMPT.prompt_hash
    assert ended.reward == 1.0


def test_a_class_that_cannot_begin_drops_its_rollouts() -> None:
    class Broken(Game):
        def start(self, rollouts: Sequence[ToolStart]) -> list[Result]:
            return [Result("exception", "Error: no", None, 1.0) for _ in rollouts]

    ended = say(environment(Broken(), sources=[{"type": "class", "source": GAME}]), CALL)
    assert (ended.finish_reason, ended.failure, statuses(ended)) == ("environment", "tool_exception", [])


class Steps(Game):
    """An environment of a server that is done after two steps."""

    def run(self, requests: Sequence[Request]) -> list[Result]:
        results = super().run(requests)
        done = sum(map(len, self.requests)) >= 2
        return [replace(result, ended=done, reward=0.5) for result in results]


SERVER = {"openenv": "https://example.org", "tools": [{"function": {"name": "note"}}]}


@pytest.mark.parametrize("policy", ["tell", "drop"])
def test_an_environment_that_is_done_ends_the_rollout(policy: str) -> None:
    runner = Steps()
    env = environment(runner, sources=[SERVER], tool_failure=policy)
    first = say(env, CALL)
    assert (first.finish_reason, runner.released) == (None, [])
    ended = say(environment(runner, sources=[SERVER]), CALL)
    assert (ended.finish_reason, ended.failure, statuses(ended)) == ("environment", None, ["ok"])
    assert ended.segments[-1].by == "policy"
    assert ended.messages[1] == {
        "role": "tool", "tool_call_id": "call_0", "name": "note", "content": "noted", "status": "ok", "reward": 0.5,
    }  # fmt: skip
    assert (ended.turns[0].calls[0].reward, ended.reward, runner.released) == (0.5, 1.0, [(7, 0)])


def test_environments_of_failed_rollouts_are_ended_and_not_scored() -> None:
    class Broken(Steps):
        def run(self, requests: Sequence[Request]) -> list[Result]:
            return [replace(result, status="unreachable", ended=True) for result in super().run(requests)]

    runner = Broken()
    ended = say(environment(runner, sources=[SERVER], tool_failure="drop"), CALL)
    assert (ended.finish_reason, ended.failure, ended.reward) == ("environment", "tool_unreachable", None)
    assert runner.released == [(7, 0)]
