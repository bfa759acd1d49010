"""A job that its learning rate destroys goes back to a checkpoint by itself and ends better: with the real trainer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import Platform

KEY = "rf-roll-back-owner-key-0123456789"
ARITHMETIC = Path(__file__).resolve().parents[3] / "examples" / "arithmetic"
RATE, WARMUP = 0.03, 30
"""24 times the automatic rate at the end of the warm-up: the first steps are good, those before step 10 destroy."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Reinforge]:
    home = tmp_path / "home"
    try:
        with (
            Platform(home, port=0, bootstrap_api_key=KEY) as platform,
            Reinforge(platform.url, KEY) as one,
        ):
            yield one
    finally:
        EmbeddedPostgres(home).destroy()


def spec(client: Reinforge) -> dict[str, Any]:
    rows, held_out = (
        client.datasets.push(ARITHMETIC / name).id for name in ("additions.jsonl", "heldout.jsonl")
    )
    return {
        "model": "starter-arith",
        "data": {"dataset": rows, "held_out": held_out, "columns": {"answer": "answer"}},
        "rewards": [{"name": "correct", "source": (ARITHMETIC / "reward.py").read_text()}],
        "algorithm": {"preset": "grpo"},
        "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 56},
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": RATE, "warmup_steps": WARMUP},
        "evaluation": {"every_steps": 5, "rows": 48, "samples_per_row": 1},
        "limits": {"steps": 20, "checkpoint_every": 2},
        "diagnosis": {
            "on_finding": dict.fromkeys(("learning_rate_too_high", "worse_than_base"), "roll_back")
        },
    }


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_job_that_its_learning_rate_destroys_goes_back_and_ends_better(client: Reinforge) -> None:
    job = client.jobs.wait(client.jobs.create(spec(client)).id, timeout=800)
    assert (job.status, job.attempt, job.progress.step) == ("succeeded", 2, 20), job.error
    [record] = [finding for finding in client.jobs.findings(job.id) if finding.code == "rolled_back"]
    assert record.step >= 2 and record.step % 2 == 0, "a checkpoint, not the beginning"
    [change] = client.jobs.changes(job.id)
    assert (change.setting, change.step, change.created_by) == (
        "optimizer.learning_rate",
        record.step + 1,
        "Diagnosis",
    )
    assert change.value is not None and change.value <= RATE / 10
    [rates] = client.jobs.metrics(job.id, keys=["optimizer/learning_rate"]).series
    assert rates.steps == list(range(1, 21)), (
        "one value for each step: those of the attempt before are deleted"
    )
    used = dict(zip(rates.steps, rates.values, strict=True))
    assert used[record.step] == pytest.approx(RATE * record.step / WARMUP)
    assert used[record.step + 1] == pytest.approx(change.value * (record.step + 1) / WARMUP)
    assert job.held_out_reward_before is not None and job.held_out_reward is not None
    assert job.held_out_reward > job.held_out_reward_before + 0.25, record.message
