"""How a simulated user continues and ends rollouts."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.worker.environment.tools.test_environment import CALL, PROMPT, Runner, environment, say
from worker.environment.tools.base import ReplyRequest, ToolEnd, ToolReward
from worker.environment.tools.base import ToolResult as Result

USER = {"type": "python", "source": "def reply(messages, item, state): ..."}


class Talker(Runner):
    """Replies with these texts, then ends the rollout."""

    def __init__(self, *texts: str, **fields: Any) -> None:
        super().__init__()
        self._texts, self._reply = list(texts), fields
        self.replies: list[list[ReplyRequest]] = []

    def reply(self, requests: Sequence[ReplyRequest]) -> list[Result]:
        self.replies.append(list(requests))
        if not self._texts:
            return [Result("ok", "", "over", 1.0, ended=True) for _ in requests]
        text = self._texts.pop(0)
        return [Result(self._reply.get("status", "ok"), text, "talked", 1.0) for _ in requests]

    def reward(self, rollouts: Sequence[ToolEnd]) -> list[ToolReward]:
        return [ToolReward("ok", None, 0.0) for _ in rollouts]


def dialogue(runner: Talker, **spec: Any) -> Any:
    return environment(runner, reply=USER, **spec)


def test_an_answer_is_followed_by_the_users_reply_until_the_user_ends() -> None:
    user = Talker("And now?")
    ended = say(dialogue(user), "Hello.", CALL, "Bye.")
    assert (ended.finish_reason, ended.failure) == ("environment", None)
    assert [(segment.by, bytes(segment.token_ids).decode()) for segment in ended.segments] == [
        ("policy", "Hello."), ("user", "<And now?>"), ("policy", CALL), ("tool", "<noted>"), ("policy", "Bye."),
    ]  # fmt: skip
    assert [message["role"] for message in ended.messages] == [
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert ended.messages[1] == {"role": "user", "content": "And now?"}
    replies = [turn.reply for turn in ended.turns]
    assert [reply and (reply.text, reply.ended) for reply in replies] == [
        ("And now?", False),
        None,
        ("", True),
    ]
    assert ended.policy_tokens == sum(len(text) for text in ("Hello.", CALL, "Bye."))


def test_the_user_reads_the_whole_conversation_and_shares_its_state_with_tools() -> None:
    user = Talker("And now?")
    say(dialogue(user), "Hello.", CALL, "Bye.")
    first, last = (requests[0] for requests in user.replies)
    assert first.messages == [*PROMPT.messages, {"role": "assistant", "content": "Hello."}]
    assert [message["role"] for message in last.messages] == [
        "user", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    ((call,),) = user.requests
    assert (first.state, call.state, last.state) == (None, "talked", "state")
    assert (first.item, first.turn, last.turn, first.seed) == (PROMPT.item, 0, 2, 7)


def test_replies_work_without_tools() -> None:
    assert say(dialogue(Talker("Go on."), sources=[]), "One.", "Two.").finish_reason == "environment"


def test_the_last_turn_is_replied_to_for_rewards() -> None:
    user = Talker("One more.", "Thanks.", "never")
    ended = say(dialogue(user, max_turns=2), "One.", "Two.")
    assert (ended.finish_reason, ended.segments[-1].by) == ("max_turns", "policy")
    assert [message["content"] for message in ended.messages] == ["One.", "One more.", "Two.", "Thanks."]
    assert say(dialogue(Talker(), max_turns=1), "One.").finish_reason == "environment"


def test_limits_end_a_dialogue() -> None:
    assert say(dialogue(Talker("x"), most=4), "One.").finish_reason == "length"
    assert say(dialogue(Talker("x"), context=3 + 4 + 3), "One.").finish_reason == "context"
    user = Talker("x")
    assert say(dialogue(user), "cut off", end="length").finish_reason == "length"
    assert user.replies == []


def test_a_long_reply_is_cut_in_the_middle() -> None:
    (message,) = say(dialogue(Talker("a" * 50 + "b" * 50), max_result_tokens=20), "One.").messages[1:]
    assert message["content"] == "a" * 10 + "\n[80 tokens left out]\n" + "b" * 10


@pytest.mark.parametrize(
    ("policy", "failure"), [("tell", "reply_timeout"), ("drop", "reply_timeout"), ("end", None)]
)
def test_a_reply_that_fails_ends_or_drops_the_rollout(policy: str, failure: str | None) -> None:
    ended = say(dialogue(Talker("It took too long.", status="timeout"), tool_failure=policy), "One.")
    assert (ended.finish_reason, ended.failure) == ("environment", failure)
    assert ended.failure_message == (failure and "It took too long.")
    reply = ended.turns[0].reply
    assert reply is not None and (reply.status, reply.text) == ("timeout", "It took too long.")
    assert [message["role"] for message in ended.messages] == ["assistant"]
    assert [segment.by for segment in ended.segments] == ["policy"]
