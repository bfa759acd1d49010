"""A stored run, diagnosed after every step as the backend does it."""

from collections.abc import Mapping
from typing import Any

from common.folder import Series

from reinforge.base_models.config import read_hidden_size
from reinforge.base_models.learning_rate import auto_learning_rate
from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.training_check import reported
from reinforge.spec import JobSpec
from worker.starter import CHECKPOINT
from zoo.score import Alarm
from zoo.stored import StoredRun

Points = list[tuple[int, float]]
REWARD = "held_out/reward_mean"


def alarms(run: StoredRun) -> list[Alarm]:
    """Problems that are open at the end, the most important first; then those that were taken back."""
    size = read_hidden_size(CHECKPOINT)
    spec = JobSpec.model_validate(run.spec).resolved(engine="transformers", hidden_size=size)
    resolved = spec.model_dump(mode="json")
    rate = auto_learning_rate(size, spec.algorithm.updates_per_step) if size else None
    noticed: dict[str, int] = {}
    since: dict[str, int] = {}
    current: list[Alarm] = []
    for step in range(1, run.step + 1):
        problems = reported(_input(run, resolved, step, rate))
        current = []
        for problem in (item for item in problems if item.severity != "info"):
            at = noticed.setdefault(problem.code, step)
            since[problem.code] = problem.step
            remedies = [remedy.model_dump(mode="json") for remedy in problem.remedies]
            current.append(Alarm(problem.code, problem.step, at, remedies))
    codes = {alarm.code for alarm in current}
    return current + [Alarm(code, since[code], at) for code, at in noticed.items() if code not in codes]


def _input(run: StoredRun, spec: Mapping[str, Any], step: int, auto_rate: float | None) -> JobInput:
    starts = [at for at in range(1, step + 1) if at % spec["limits"]["checkpoint_every"] == 0]
    return JobInput(
        series=_until(run.train, step) | _until(run.held_out, step),
        spec=spec,
        held_out_rows=run.facts["held_out_rows"],
        leaked_rows=run.facts["leaked_rows"],
        training_prompts=run.facts["train_prompts"],
        starts=starts,
        best_step=_best(run, [*starts, run.step], step),
        checkpoints=[*starts, run.step] if step == run.step else starts,
        auto_rate=auto_rate,
        ended=step == run.step,
    )


def _until(series: Series, step: int) -> dict[str, Points]:
    """As the database has them: points with a value."""
    points = {name: [point for point in series.points(name) if point[0] <= step] for name in series.values}
    return {name: own for name, own in points.items() if own}


def _best(run: StoredRun, checkpoints: list[int], step: int) -> int | None:
    points = dict(run.held_out.points(REWARD))
    measured = {at: points[at] for at in checkpoints if at in points and at <= step}
    best = max(measured, key=lambda at: measured[at], default=None)
    return best if best is not None and measured[best] > points.get(0, float("inf")) else None
