"""Views, labels and calibration of evaluations."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.evaluations import repository
from backend.evaluations.replay import ReplacementReward
from backend.evaluations.stored import Stored, every, read_places
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.models import EvaluationRow, Job, Label, now
from reinforge.errors import InvalidInput, NotFound
from reinforge.evaluation.calibration import Judged, calibrate, paid
from reinforge.schemas.evaluations import (
    Calibration,
    Evaluation,
    LabelCreate,
    LabelPlace,
    LabelView,
)

SILENT = timedelta(minutes=3)
SUGGESTED = 30


async def find(session: AsyncSession, project_id: str, id: str) -> EvaluationRow:
    row = await repository.find(session, project_id, id, lock=True)
    if row is None:
        raise NotFound(f"There is no evaluation {id}.", code="evaluation_not_found", param="id")
    if row.kind == "replay" and row.status == "running" and row.touched_at < now() - SILENT:
        row.status, row.finished_at = "failed", now()
        message = "The server that ran the replay was stopped."
        row.error = {"code": "interrupted", "message": message, "hint": "Start it again."}
    return row


async def create_replay(
    session: AsyncSession, job: Job, code: ReplacementReward, most: int, created_by: str
) -> EvaluationRow:
    tables = await repository.tables(session, job.id)
    if not tables:
        raise InvalidInput(
            "The job has no stored completions yet.", code="no_completions", param="job",
            hint="Wait for its first step.",
        )  # fmt: skip
    row = EvaluationRow(
        id=new_id("eval_"),
        project_id=job.project_id,
        job_id=job.id,
        kind="replay",
        params={"reward": code.reward, "stored": code.stored, "revision": code.revision},
        status="running",
        done=0,
        total=sum(count for _, _, count in tables) // every(tables, most),
        created_by=created_by,
        touched_at=now(),
    )
    session.add(row)
    await session.flush()
    return row


def cancel(row: EvaluationRow) -> None:
    if row.status == "running":
        row.status, row.finished_at = "cancelled", now()


def view(row: EvaluationRow) -> Evaluation:
    return Evaluation.model_validate(
        {
            "id": row.id,
            "kind": row.kind,
            "name": row.name,
            "job": row.job_id,
            **row.params,
            "status": row.status,
            "done": row.done,
            "total": row.total,
            "report": row.result if row.kind == "replay" else None,
            "summary": row.result if row.kind == "stand_alone" else None,
            "error": {name: row.error.get(name) for name in ("code", "message", "hint")}
            if row.error
            else None,
            "created_by": row.created_by,
            "created_at": row.created_at,
            "finished_at": row.finished_at,
        }
    )


async def put_labels(session: AsyncSession, job: Job, labels: Sequence[LabelCreate], by: str) -> None:
    existing = await repository.existing_completions(session, job.id, labels)
    for number, label in enumerate(labels):
        if (label.split, label.step, label.prompt_no, label.sample_no) not in existing:
            raise InvalidInput(
                f"The job has no completion {label.sample_no} of prompt {label.prompt_no} at step {label.step}.",
                code="unknown_completion",
                param=f"labels[{number}]",
                hint="A resume from an earlier step deletes later completions: load the list again.",
            )
        await repository.put_label(session, job.id, label, by)


async def labels(session: AsyncSession, job: Job) -> list[LabelView]:
    return [_label(row) for row in await repository.labels(session, job.id)]


async def calibration(session: AsyncSession, cache: ObjectCache, job: Job, reward: str | None) -> Calibration:
    names = [reward_spec["name"] for reward_spec in job.resolved_spec["rewards"]]
    if reward is not None and reward not in names:
        raise InvalidInput(
            f"The job has no reward {reward!r}.",
            code="unknown_reward",
            param="reward",
            hint=f"It has: {', '.join(names)}.",
        )
    name = reward or names[0]
    pass_above = float(job.resolved_spec["evaluation"].get("pass_above", 0.5))
    rows = await repository.labels(session, job.id)
    stored_completions = await _stored(session, cache, job.id, rows)
    judged, differ = [], []
    for row in rows:
        stored = stored_completions.get((row.split, row.step, row.prompt_no, row.sample_no))
        judgement = _judged(row.right, stored.results.get(name, {}) if stored else {})
        judged.append(judgement)
        if judgement.value is not None and (judgement.value > pass_above) != row.right:
            differ.append(_label(row))
    return Calibration(
        job=job.id,
        reward=name,
        pass_above=pass_above,
        report=calibrate(judged, pass_above=pass_above),
        disagreements=differ,
        unlabelled=suggest(await repository.unlabelled(session, job.id), pass_above),
    )


def suggest(open_places: Sequence[tuple[int, int, int, float]], pass_above: float) -> list[LabelPlace]:
    """Up to 30 completions to label, half of them passing if possible, spread over the steps."""
    sides = [[p for p in open_places if p[3] > pass_above], [p for p in open_places if p[3] <= pass_above]]
    chosen: list[tuple[int, int, int, float]] = []
    for side, opposite in (sides, sides[::-1]):
        count = min(len(side), max(SUGGESTED // 2, SUGGESTED - len(opposite)))
        chosen += [side[place * len(side) // count] for place in range(count)]
    return [LabelPlace(step=p[0], prompt_no=p[1], sample_no=p[2]) for p in sorted(chosen[:SUGGESTED])]


async def _stored(
    session: AsyncSession, cache: ObjectCache, job_id: str, rows: Sequence[Label]
) -> dict[tuple[str, int, int, int], Stored]:
    places_by_table: dict[tuple[str, int], set[tuple[int, int]]] = defaultdict(set)
    for row in rows:
        places_by_table[row.split, row.step].add((row.prompt_no, row.sample_no))
    completions = {}
    for (split, step), places in places_by_table.items():
        sha256 = await repository.table_of(session, job_id, split, step)
        if sha256 is None:
            continue
        async with cache.file(sha256) as path:
            read = partial(_read, str(path), step, places)
            for completion in await anyio.to_thread.run_sync(read):
                completions[split, step, completion.prompt_no, completion.sample_no] = completion
    return completions


def _read(path: str, step: int, places: set[tuple[int, int]]) -> list[Stored]:
    return list(read_places(path, step, places))


def _judged(right: bool, result: dict[str, Any]) -> Judged:
    value = result.get("value") if result.get("status") == "ok" else None
    return Judged(right, value, float(result.get("wall_ms") or 0.0), paid(result.get("usage") or {}))


def _label(row: Label) -> LabelView:
    return LabelView.model_validate(row)
