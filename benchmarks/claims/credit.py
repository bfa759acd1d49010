"""Credit inside a completion, by steps or by the policy's own uncertainty."""

from typing import Any

import torch
from common.folder import Folder

from claims.evidence import MIXED_STEPS
from claims.fixtures import job, reward, sums
from claims.ledger import Arm, Claim, at_least, at_most, needs_at_least
from claims.measures import taken
from worker.algorithm.advantages.process import process
from worker.algorithm.rows import Rows, Steps

BLAMED = taken("wrong_negative", "wrong steps with a negative advantage (share)")
ON_WRONG = taken("wrong", "mean advantage on wrong steps")
BEHIND = taken("right_behind_wrong", "mean advantage on a right step behind a wrong one")
OUTCOME = taken("outcome_behind_wrong", "the same, by outcome")


def step_credit(folder: Folder) -> dict[str, Any]:
    """What the estimator gives to the tokens of wrong and of right steps, on all training completions."""
    wrong: list[float] = []
    behind: list[float] = []
    outcome: list[float] = []
    mixed: list[bool] = []
    for step in folder.series("train").steps:
        rows = folder.completions("train", step)
        values = process(_rows(rows), torch.zeros(len(rows)), torch.ones(len(rows), dtype=torch.bool))
        groups = _outcomes(rows)
        for number, row in enumerate(rows):
            steps = row["rewards"][0]["steps"]
            ends = [int(end) for _, end in steps]
            at = [float(values[number, end - 1]) for end in ends]
            right = [value > 0.5 for value, _ in steps]
            mixed.append(len(set(right)) > 1)
            wrong += [credit for credit, fine in zip(at, right, strict=True) if not fine]
            if right == [False, True]:
                behind.append(at[1])
                outcome.append(groups[number])
    return {
        "mixed_steps": sum(mixed) / len(mixed),
        "wrong": sum(wrong) / len(wrong),
        "wrong_negative": sum(credit < 0 for credit in wrong) / len(wrong),
        "right_behind_wrong": sum(behind) / len(behind),
        "outcome_behind_wrong": sum(outcome) / len(outcome),
    }


def _rows(rows: list[dict[str, Any]]) -> Rows:
    """The starter model writes one token per character, so that a step's last character is its last token."""
    count = len(rows)
    steps = [
        (number, value, end) for number, row in enumerate(rows) for value, end in row["rewards"][0]["steps"]
    ]
    lengths = torch.tensor([row["length"] for row in rows])
    return Rows(
        group=torch.tensor([row["prompt_no"] for row in rows]),
        values=torch.tensor([[row["rewards"][0]["value"]] for row in rows], dtype=torch.float64),
        weights=torch.ones(1, dtype=torch.float64),
        scorable=torch.ones(count, dtype=torch.bool),
        mask=torch.arange(int(lengths.max()))[None] < lengths[:, None],
        truncated=torch.tensor([row["finish_reason"] == "length" for row in rows]),
        steps=Steps(
            row=torch.tensor([number for number, _, _ in steps]),
            end=torch.tensor([int(end) for _, _, end in steps]),
            values=torch.tensor([value for _, value, _ in steps], dtype=torch.float64),
        ),
    )


def _outcomes(rows: list[dict[str, Any]]) -> list[float]:
    """Reward less its group's mean: the sign that outcome supervision gives to every token."""
    groups: dict[int, list[float]] = {}
    for row in rows:
        groups.setdefault(row["prompt_no"], []).append(row["rewards"][0]["value"])
    return [
        row["rewards"][0]["value"] - sum(group) / len(group)
        for row in rows
        for group in (groups[row["prompt_no"]],)
    ]


PROCESS = Arm(
    "steps/process",
    job(
        sums(512, held_out=False),
        sums(64, held_out=True),
        [reward("steps")],
        {"preset": "grpo_process"},
        steps=4,
        prompts=16,
        every=0,
        samples=1,
    ),
    step_credit,
)

CLAIMS = (
    Claim(
        id="process-blames-the-step",
        statement="Process supervision puts negative advantage on the wrong step, and not on a right one behind it.",
        source="DeepSeekMath (2402.03300), section 4.1.3",
        ran=(
            "Additions, four steps of 16 × 8: the digits before the last are one step, the last digit another; "
            "`grpo_process` on completions as they were sampled."
        ),
        arms={"process": PROCESS},
        measures=(ON_WRONG, BLAMED, BEHIND, OUTCOME),
        bounds=(needs_at_least(MIXED_STEPS, "process", 0.1),),
        rule=(
            at_most(ON_WRONG, "process", -0.3),
            at_least(BLAMED, "process", 0.8),
            at_least(BEHIND, "process", 0.3),
        ),
    ),
)
