"""Series of single rewards, of the use of tools, and of letters, from rollouts made by hand."""

import pytest
import torch

from worker.environment.base import PolicyTurn, Prompt, Segment, ToolCall
from worker.rewards.base import RewardResult, Score
from worker.rollout.collect import Rollout
from worker.training.reporting.off_language import off_language_share
from worker.training.reporting.reward_spreads import reward_spreads
from worker.training.reporting.turn_metrics import turn_values


def rollout(
    prompt_no: int = 0,
    *,
    text: str = "",
    question: str = "",
    answer: str = "",
    rewards: dict[str, float | str] | None = None,
    calls: tuple[str, ...] = (),
) -> Rollout:
    """rewards: value, or status without one. calls: their statuses."""
    results = [
        RewardResult(name, "ok", value) if isinstance(value, float) else RewardResult(name, value, None)
        for name, value in (rewards or {}).items()
    ]
    made = tuple(ToolCall(str(place), "add", "{}", status) for place, status in enumerate(calls))
    return Rollout(
        Prompt(0, {"answer": answer}, [], question, (1,), "0"), prompt_no, 0, (Segment((2,), "policy"),), text, "stop",
        score=Score(tuple(results), None, False), turns=(PolicyTurn(0, 0, 1, text, made),),
    )  # fmt: skip


def test_each_of_several_rewards_has_its_spread_and_its_errors() -> None:
    rows: list[tuple[int, dict[str, float | str]]] = [
        (0, {"right": 0.0, "style": 4.0}),
        (0, {"right": 2.0, "style": "exception"}),
        (1, {"right": 4.0, "style": "not_applicable"}),
        (1, {"right": 4.0, "style": "timeout"}),
    ]
    values = reward_spreads([rollout(prompt_no, rewards=rewards) for prompt_no, rewards in rows])
    assert values == {
        "reward/right/std": pytest.approx(11**0.5 / 3**0.5),
        "reward/right/group_std": pytest.approx(2**0.5 / 2),
        "reward/right/error_share": 0.0,
        "reward/style/std": None,
        "reward/style/group_std": None,
        "reward/style/error_share": 0.5,
    }
    assert reward_spreads([rollout(rewards={"right": 1.0})]) == {}, "reward/std and reward/error_share say it"


def test_prompts_are_wrong_in_spite_of_tools_where_no_rollout_with_a_call_that_ran_passes() -> None:
    rows = [
        (0, ("ok",), 0.0), (0, (), 1.0),  # passes without a tool alone
        (1, ("bad_arguments", "exception"), 1.0), (1, ("ok",), 0.0),
        (2, ("unknown_tool",), 0.0), (2, ("too_many",), 0.0),  # nothing ran
        (3, ("ok",), torch.nan), (4, ("ok",), 0.0),
    ]  # fmt: skip
    rollouts = [rollout(prompt_no, calls=calls) for prompt_no, calls, _ in rows]
    values = turn_values(rollouts, torch.tensor([passes for _, _, passes in rows], dtype=torch.float64))
    assert values["tools/use_share"] == 5 / 8
    assert values["tools/all_wrong_share"] == pytest.approx(2 / 3)
    unused = turn_values([rollout(calls=("invalid_json",))], torch.tensor([0.0]))
    assert (unused["tools/use_share"], unused["tools/all_wrong_share"]) == (0.0, None)


@pytest.mark.parametrize(
    ("question", "answer", "text", "share"),
    [
        ("What is 1+1?", "2", "two \u4e8c\u4e8c, \u03c0", 2 / 6),
        ("What is 1+1?", "2", "1 + 1 = 2", None),
        ("Say two in Chinese", "\u4e8c", "\u4e8c", 0.0),
        ("\u65e5\u672c\u8a9e", "", "\u3072\u3089 \u30ab Latin", 0.0),
        ("\u65e5\u672c\u8a9e", "", "\u3072 \u0434\u0430", 2 / 3),
    ],
    ids=["chinese", "no-letters", "asked-for", "japanese", "russian"],
)
def test_letters_of_scripts_that_the_row_does_not_use(
    question: str, answer: str, text: str, share: float | None
) -> None:
    assert off_language_share([rollout(text=text, question=question, answer=answer)]) == share
