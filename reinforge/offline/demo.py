"""The demo: one GRPO job on the starter model, through the SDK."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from reinforge import settings
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, JobFailure, StateConflict, Unavailable
from reinforge.offline.examples import spec_hash
from reinforge.offline.train import model_folder
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.jobs import CompletionRow, JobDetail, Metrics
from reinforge.spec import JobSpec
from reinforge.states import FINAL, JobStatus

_HERE = Path(__file__).resolve().parents[1]
NAME = "Show your work on additions"
DemoName = Literal["additions", "tools"]
_FOLDERS: dict[DemoName, str] = {"additions": "arithmetic", "tools": "calculator-agent"}
SUMMARY_KEYS = (
    "job_id", "status", "reward_before", "reward_after", "length_before", "length_after",
    "steps", "seconds", "base_path", "adapter_path", "adapter_step", "url",
)  # fmt: skip


def job_file(name: DemoName = "additions") -> Path:
    for folder in (_HERE / "examples", _HERE.parent / "examples"):  # an installed wheel, a checkout
        path = folder / _FOLDERS[name] / "job.yaml"
        if path.is_file():
            return path
    raise Unavailable(
        "The demo's files did not come with this installation.",
        code="demo_files_missing",
        hint="Install the wheel, or run from a checkout.",
    )


def with_engine(spec: JobSpec, engine: str | None) -> JobSpec:
    if engine is None:
        return spec
    raw = spec.model_dump(exclude_unset=True)
    try:
        return JobSpec.model_validate(raw | {"rollout": raw.get("rollout", {}) | {"engine": engine}})
    except ValidationError as error:
        raise InvalidInput(
            f"The demo cannot be sampled with {engine!r}: {error.errors()[0]['msg']}",
            code="unknown_engine",
            param="engine",
        ) from error


def demo_key(home: Path) -> str:
    """`REINFORGE_BOOTSTRAP_API_KEY`, else the demo's own API key, created once in a private file."""
    api_key = settings.bootstrap_api_key()
    if api_key:
        return api_key
    path = home / "demo-key"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        key = f"rf-{secrets.token_urlsafe(32)}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(key)
        return key


def find_or_start(
    client: Reinforge, spec: JobSpec, push: Callable[[Reinforge, JobSpec], JobSpec], *, again: bool
) -> tuple[JobDetail, bool]:
    """Return the demo job, and True if one with this specification existed; resumes a paused one."""
    mark, name = spec_hash(spec), spec.name or NAME
    if not again:
        for job in client.jobs.list():
            if job.name != name or job.status in FINAL - {JobStatus.SUCCEEDED}:
                continue
            detail = client.jobs.get(job.id)
            if detail.spec.get("metadata", {}).get("demo") == mark:
                paused = detail.status == JobStatus.PAUSED
                return (client.jobs.resume(job.id) if paused else detail), True
    pushed = push(client, spec).model_copy(update={"name": name, "metadata": {"demo": mark}})
    return client.jobs.create(pushed), False


def held_out(metrics: Metrics, key: str) -> tuple[float | None, float | None]:
    for series in metrics.series:
        if series.key == key and series.kind == "held_out":
            values = [value for value in series.values if value is not None]
            return (values[0], values[-1]) if values else (None, None)
    return None, None


def examples(
    client: Reinforge, job: JobDetail, count: int = 2
) -> list[tuple[str, CompletionRow, CompletionRow]]:
    """`(prompt, completion before, completion after)` of held-out rows, preferably where the reward rose."""
    steps = client.jobs.completions(job.id, split="held_out", limit=1).steps
    if len(steps) < 2:
        return []
    first, last = (
        {(row.prompt_no, row.sample_no): row for row in page.data}
        for page in (
            client.jobs.completions(job.id, split="held_out", step=step, limit=1000)
            for step in (min(steps), max(steps))
        )
    )
    pairs = [(first[key], last[key]) for key in sorted(first.keys() & last.keys())]
    gained = [pair for pair in pairs if (pair[0].reward or 0) < (pair[1].reward or 0)] or pairs
    one_per_prompt = {before.prompt_no: (before, after) for before, after in reversed(gained)}
    chosen = sorted(one_per_prompt.items())[:count]
    return [(question(client, job, before), before, after) for _, (before, after) in chosen]


def question(client: Reinforge, job: JobDetail, row: CompletionRow) -> str:
    one = client.jobs.completion(job.id, row.split, row.step, row.prompt_no, row.sample_no)
    content = one.prompt_messages[-1].get("content") if one.prompt_messages else None
    return content if isinstance(content, str) else one.prompt


def chosen_checkpoint(client: Reinforge, job: JobDetail) -> Checkpoint:
    """The best checkpoint; the final one if none is better than the base model."""
    try:
        return client.jobs.pick_checkpoint(job.id)
    except StateConflict as error:
        if error.code != "no_better_checkpoint":
            raise
        return client.jobs.pick_checkpoint(job.id, "final")


def summary(client: Reinforge, job: JobDetail, home: Path) -> dict[str, Any]:
    """Contents of `demo-summary.json`; unpacks the adapter below `home`. Raises JobFailure if it failed."""
    if job.status != JobStatus.SUCCEEDED:
        state = f"it is {job.status}" + (f", {job.reason}" if job.reason else "")
        message = job.error.message if job.error else state
        raise JobFailure(f"The demo job did not succeed: {message}", code=job.reason or str(job.status))
    if job.adapter is None:
        raise Unavailable(f"{job.id} succeeded without an adapter.", code="no_adapter")
    metrics = client.jobs.metrics(job.id)
    before, after = held_out(metrics, "held_out/reward_mean")
    length_before, length_after = held_out(metrics, "held_out/length_mean")
    checkpoint = chosen_checkpoint(client, job)
    path = home / "adapters" / f"{job.id}-step-{checkpoint.step}"
    if not (path / "adapter_config.json").exists():
        path = client.jobs.extract_checkpoint(job.id, checkpoint.step, path)
    seconds = (
        (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else None
    )
    values = (
        job.id, str(job.status), before, after, length_before, length_after, job.progress.step,
        seconds, str(model_folder(job.model)), str(path.resolve()), checkpoint.step,
        f"{client.base_url}/jobs/{job.id}",
    )  # fmt: skip
    return dict(zip(SUMMARY_KEYS, values, strict=True))
