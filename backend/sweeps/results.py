"""Views of sweeps."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean

from backend.models import SweepRow
from backend.sweeps.importance import importance
from backend.sweeps.planner import ENDED, TrialRecord, objective
from backend.sweeps.repository import StoredTrial
from reinforge.schemas.jobs import JobError
from reinforge.schemas.sweeps import (
    Sweep,
    SweepBest,
    SweepDetail,
    SweepSetting,
    SweepTrial,
)
from reinforge.sweeps import SweepSpec
from reinforge.sweeps.variations import number_of_trials, varied_paths


def record(trial: StoredTrial, price: float | None) -> TrialRecord:
    row, job = trial.row, trial.job
    status = row.state if row.state != "submitted" else "deleted" if job is None else job.status
    cost = None
    if price is not None:
        cost = trial.usage.get("device_seconds", 0.0) / 3600 * price + trial.usage.get("judge_spend", 0.0)
    return TrialRecord(
        row.number, row.setting, row.name, row.parameters, status, row.ended_by, trial.rewards, trial.steps,
        trial.usage.get("device_seconds", 0.0), cost,
    )  # fmt: skip


def summary(row: SweepRow, stored: Sequence[StoredTrial]) -> Sweep:
    spec = SweepSpec.model_validate(row.spec)
    trials = [trial_view(spec, trial, row.gpu_hour_price) for trial in stored]
    return Sweep.model_validate(_fields(row, spec, trials, settings(trials)))


def detail(row: SweepRow, stored: Sequence[StoredTrial]) -> SweepDetail:
    spec = SweepSpec.model_validate(row.spec)
    trials = [trial_view(spec, trial, row.gpu_hour_price) for trial in stored]
    ranked = settings(trials)
    shares, note = importance(varied_paths(spec), trials)
    costs = [trial.cost for trial in trials if trial.cost is not None]
    return SweepDetail.model_validate(
        _fields(row, spec, trials, ranked)
        | {
            "spec": spec,
            "trials": trials,
            "settings": ranked,
            "importance": shares,
            "importance_note": note,
            "seconds": sum(trial.seconds for trial in trials),
            "cost": sum(costs) if row.gpu_hour_price is not None else None,
        }
    )


def _fields(
    row: SweepRow, spec: SweepSpec, trials: Sequence[SweepTrial], ranked: Sequence[SweepSetting]
) -> dict[str, object]:
    return {
        "id": row.id,
        "name": row.name,
        "project": row.project_id,
        "status": row.status,
        "reason": row.reason,
        "notice": row.notice if row.status == "running" else None,
        "method": spec.method,
        "objective": spec.objective,
        "varied": varied_paths(spec),
        "planned": number_of_trials(spec),
        "counts": dict(Counter(trial.status for trial in trials)),
        "best": best(trials, ranked),
        "warnings": row.warnings,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "created_by": row.created_by,
    }


def trial_view(spec: SweepSpec, stored: StoredTrial, price: float | None) -> SweepTrial:
    row, job, of_trial = stored.row, stored.job, record(stored, price)
    reward, step = objective(spec, of_trial)
    error = row.error or (job.error if job is not None and job.status == "failed" else None)
    return SweepTrial(
        number=row.number,
        setting=row.setting,
        name=row.name,
        parameters=row.parameters,
        seed=row.seed,
        job=row.job_id,
        status=of_trial.status,
        ended_by=row.ended_by,
        error=JobError.model_validate(error) if error else None,
        objective=reward,
        objective_step=step,
        evaluations=len(stored.rewards),
        step=job.step if job is not None else 0,
        steps=job.steps if job is not None else 0,
        seconds=of_trial.seconds,
        cost=of_trial.cost,
        adapter=job.adapter_id if job is not None else None,
    )


def settings(trials: Sequence[SweepTrial]) -> list[SweepSetting]:
    members: dict[int, list[SweepTrial]] = defaultdict(list)
    for trial in trials:
        members[trial.setting].append(trial)
    views = []
    for setting, group in members.items():
        rewards = [trial.objective for trial in group if trial.objective is not None]
        views.append(
            SweepSetting(
                setting=setting,
                name=group[0].name,
                parameters=group[0].parameters,
                trials=[trial.number for trial in group],
                objective=fmean(rewards) if rewards else None,
                low=min(rewards, default=None),
                high=max(rewards, default=None),
                measured=len(rewards),
            )
        )
    views.sort(key=lambda view: (view.objective is None, -(view.objective or 0.0), view.setting))
    return views


def best(trials: Sequence[SweepTrial], ranked: Sequence[SweepSetting]) -> SweepBest | None:
    """Best setting whose trials have all ended; if there is none, the best measured setting."""
    by_number = {trial.number: trial for trial in trials}
    measured = [setting for setting in ranked if setting.objective is not None]
    ended = [
        setting for setting in measured if all(by_number[number].status in ENDED for number in setting.trials)
    ]
    for setting in ended or measured:
        group = [by_number[number] for number in setting.trials]
        top = max(group, key=lambda trial: float("-inf") if trial.objective is None else trial.objective)
        if top.objective is not None and top.objective_step is not None:
            return SweepBest(
                setting=setting.setting,
                trial=top.number,
                job=top.job,
                objective=top.objective,
                step=top.objective_step,
                adapter=top.adapter,
            )
    return None
