"""Jobs, rewards and a sweep that the questions of `tests/e2e/questions.py` are about."""

from dataclasses import dataclass
from typing import Any

from reinforge.client import Reinforge
from tests.e2e.conftest import DEMO_JOB

ARITHMETIC = DEMO_JOB.parent
WAIT = 3000
LENGTH = "def grade(sample, item):\n    return len(sample['output_text']) / 200\n"
FAILING = (
    "def grade(sample, item):\n"
    "    if int(item['answer']) % 7 == 0:\n"
    "        raise ValueError('seven divides it')\n"
    "    return float(f\"<answer>{item['answer']}</answer>\" in sample['output_text'])\n"
)


@dataclass
class QuestionData:
    """Ids."""

    steady: str
    """A job that learns."""
    faster: str
    """The same with another learning rate and seed."""
    hacked: str
    """A job whose reward pays for length."""
    failing: str
    """A reward that fails on some rows."""
    sweep: str


def job_spec(data: str, held_out: str, reward: str, steps: int, **changes: Any) -> dict[str, Any]:
    return {
        "model": "starter-arith",
        "data": {"dataset": data, "held_out": held_out, "columns": {"answer": "answer"}},
        "rewards": [{"name": "correct", "reward": reward}],
        "algorithm": {"preset": "grpo"},
        "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 56},
        "optimizer": {"learning_rate": 6e-4},
        "evaluation": {"every_steps": max(2, steps // 3), "rows": 24, "samples_per_row": 2},
        "limits": {"steps": steps, "checkpoint_every": max(2, steps // 3)},
    } | changes


def make_data(client: Reinforge, steps: int) -> QuestionData:
    """steps: of the longer jobs. Returns when all of them have ended; raises SystemExit if one did not succeed."""
    data = client.datasets.push(ARITHMETIC / "additions.jsonl").id
    held_out = client.datasets.push(ARITHMETIC / "heldout.jsonl").id
    correct = client.rewards.push(ARITHMETIC / "reward.py", name="correct sum").id
    length = client.rewards.push(source=LENGTH, name="long answers").id
    failing = client.rewards.push(source=FAILING, name="fails on some").id
    limits = {"steps": 3, "error_share": 0.9}
    specs = [
        job_spec(data, held_out, correct, steps, name="Steady"),
        job_spec(data, held_out, correct, steps, name="Faster", seed=7, optimizer={"learning_rate": 1.2e-3}),
        job_spec(data, held_out, length, steps, name="Longer"),
        job_spec(data, held_out, failing, 3, name="Failing", limits=limits),
    ]
    jobs = steady, faster, hacked, _ = [client.jobs.create(spec).id for spec in specs]
    sweep = client.sweeps.create(
        {
            "name": "Learning rates",
            "job": job_spec(data, held_out, correct, 6),
            "parameters": {"optimizer.learning_rate": [1e-4, 1e-3]},
            "seeds": 2,
        }
    ).id
    for job in jobs:
        status = client.jobs.wait(job, timeout=WAIT).status
        if status != "succeeded":
            raise SystemExit(f"{job} is {status}")
    client.sweeps.wait(sweep, timeout=WAIT)
    return QuestionData(steady, faster, hacked, failing, sweep)
