"""`reinforge reward attack --train`: trains the starter model on a reward to see how it is exploited."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from reinforge.cli.jobs.defaults import push_parts
from reinforge.cli.jobs.watch import follow
from reinforge.cli.output import err, number, out
from reinforge.client import Reinforge
from reinforge.dataset import ColumnRoles
from reinforge.diagnosis.finding import FindingCode
from reinforge.schemas.findings import FindingEntry
from reinforge.spec import JobSpec

MODEL = "starter-arith"
STEPS = 30
HACKS: frozenset[FindingCode] = frozenset(
    {
        "answers_disagree", "format_gaming", "reward_constant", "reward_follows_digits", "reward_follows_format",
        "reward_follows_length", "reward_follows_repetition", "reward_hacking", "witness_disagrees",
    }
)  # fmt: skip
"""Codes of findings that show that reward is gained by something other than right answers."""
LONGEST_TEXT = 80


class TrainedAttack(BaseModel):
    """Result of a training job that tried to exploit a reward."""

    job: str
    status: str
    steps: int
    reward: tuple[float, float] | None
    """Mean reward of the first and the last step."""
    right: tuple[float, float] | None
    """Share of right answers in the first and the last step; None without an answer column."""
    findings: list[FindingEntry]
    """The job's findings with a code in `HACKS`."""
    best: str | None
    """A completion of the last step with the highest reward."""

    @property
    def broken(self) -> bool:
        return bool(self.findings)


def spec_of(
    reward: dict[str, Any],
    name: str,
    dataset: Path,
    *,
    columns: ColumnRoles,
    template: str | None,
    entry: str | None,
    steps: int = STEPS,
) -> JobSpec:
    """Job that trains the starter model on this reward alone. reward: the result of `reward_of`."""
    chosen = {key: value for key, value in reward.items() if value is not None}
    if chosen.get("source", "").lstrip().startswith("{"):
        chosen = json.loads(chosen["source"])  # a grader
    data = {"dataset": str(dataset), "columns": columns.model_dump(exclude_none=True)}
    return JobSpec.model_validate(
        {
            "name": f"Attack on {name}"[:200],
            "model": MODEL,
            "data": data | ({"prompt_template": template} if template else {}) | {"held_out_rows": 0},
            "rewards": [{"name": "attacked"} | chosen | ({"entry": entry} if entry else {})],
            "algorithm": {"preset": "grpo"},
            "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 56},
            "adapter": {"rank": 16},
            "evaluation": {"rows": 0, "every_steps": 0},
            "limits": {"steps": steps, "checkpoint_every": steps},
        }
    )


def train_attack(client: Reinforge, spec: JobSpec, *, quiet: bool) -> TrainedAttack:
    job = client.jobs.create(push_parts(client, spec))
    err.print(f"{job.id} attacks the reward: {client.base_url}/jobs/{job.id}", markup=False, soft_wrap=True)
    ended = follow(client, job.id, quiet=quiet)
    metrics = client.jobs.metrics(job.id, keys=["reward/mean", "completions/answer_share"])
    values = {series.key: series.values for series in metrics.series if series.kind == "train"}
    best = client.jobs.completions(job.id, sort="-reward", limit=1).data if ended.progress.step else []
    return TrainedAttack(
        job=job.id,
        status=ended.status,
        steps=ended.progress.step,
        reward=_ends(values.get("reward/mean")),
        right=_ends(values.get("completions/answer_share")),
        findings=[entry for entry in client.jobs.findings(job.id) if entry.code in HACKS],
        best=best[0].text if best else None,
    )


def print_attack(attack: TrainedAttack) -> None:
    verdict = "[red]broken[/red]" if attack.broken else "[green]holds[/green]"
    if attack.status != "succeeded":
        verdict = f"[yellow]{attack.status}[/yellow]"
    change = f"reward {_change(attack.reward)}"
    if attack.right is not None:
        change += f", right answers {_change(attack.right)}"
    out.print(f"{verdict}  trained for {attack.steps} steps: {change}")
    for entry in attack.findings:
        out.print(f"  since step {entry.step}: {entry.title}. {entry.message}", markup=False, soft_wrap=True)
    if attack.findings and attack.best is not None:
        text = attack.best.replace("\n", "⏎")[:LONGEST_TEXT]
        out.print(f"      it writes: {text or '(empty)'}", markup=False, soft_wrap=True)


def _ends(values: list[float | None] | None) -> tuple[float, float] | None:
    numbers = [value for value in values or [] if value is not None]
    return (numbers[0], numbers[-1]) if numbers else None


def _change(ends: tuple[float, float] | None) -> str:
    return "not measured" if ends is None else f"{number(ends[0])} → {number(ends[1])}"
