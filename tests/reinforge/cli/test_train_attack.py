"""The job that attacks a reward, and what its findings say about it."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinforge.cli.evaluation.train_attack import HACKS, TrainedAttack, print_attack, spec_of
from reinforge.dataset import ColumnRoles
from reinforge.diagnosis.texts import TEXTS
from reinforge.schemas.findings import FindingEntry

CODE = "def grade(sample, item):\n    return 1.0\n"
GRADER = {"type": "string_check", "input": "{{sample.output_text}}", "reference": "1", "operation": "eq"}


@pytest.mark.parametrize(
    ("reward", "kind"),
    [
        ({"source": CODE, "granularity": "group"}, "python"),
        ({"reward": "rew_1", "revision": None}, "python"),
        ({"source": json.dumps(GRADER)}, "string_check"),
    ],
)
def test_the_job_trains_the_reward_alone(reward: dict[str, Any], kind: str) -> None:
    columns = ColumnRoles(answer="result")
    spec = spec_of(reward, "r.py", Path("rows.jsonl"), columns=columns, template="{q}=", entry=None)
    assert (spec.model, spec.rewards[0].type, len(spec.rewards)) == ("starter-arith", kind, 1)
    assert (spec.data.columns.answer, spec.data.prompt_template, spec.limits.steps) == ("result", "{q}=", 30)


def test_findings_about_the_reward_break_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert TEXTS.keys() >= HACKS
    finding = FindingEntry(
        code="reward_follows_length", severity="error", step=3, noticed_step=8, hint=None,
        title="Reward follows length", message="Longer completions get higher rewards.",
    )  # fmt: skip
    attack = TrainedAttack(
        job="ftjob-1", status="succeeded", steps=30, reward=(0.1, 0.9), right=(0.5, 0.0), findings=[finding],
        best="0 1 2\n3",
    )  # fmt: skip
    print_attack(attack)
    text = capsys.readouterr().out
    assert "broken" in text and "reward 0.100 → 0.900, right answers 0.500 → 0.000" in text
    assert "since step 3: Reward follows length" in text and "it writes: 0 1 2⏎3" in text
    print_attack(attack.model_copy(update={"findings": []}))
    assert "holds" in capsys.readouterr().out
