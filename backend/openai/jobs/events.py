"""A job's events in OpenAI's format: newest first and immutable."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring.event_store import OneEvent
from backend.models import Job
from backend.openai.conventions import seconds
from backend.openai.jobs import metrics as job_metrics
from backend.openai.jobs import queries
from reinforge.schemas.openai_jobs import JobEventView

LEVELS = {"warning": "warn", "error": "error"}
_STATUS = {
    "queued": "The job is queued.",
    "starting": "A worker has taken the job.",
    "running": "The job has started.",
    "pausing": "The job stops after the step under way.",
    "paused": "The job has paused.",
    "cancelling": "The job is being cancelled.",
    "cancelled": "The job was cancelled.",
    "succeeded": "The job has successfully completed.",
    "failed": "The job has failed.",
}


def event_id(job_id: str, number: int) -> str:
    tail = str(number) if number > 0 else f"n{-number}"
    return f"ftevent-{job_id.removeprefix('ftjob-')}-{tail}"


def number_of(job_id: str, id: str) -> int | None:
    start = event_id(job_id, 1).removesuffix("1")
    tail = id.removeprefix(start)
    digits = tail.removeprefix("n")
    if not id.startswith(start) or not digits.isdecimal() or len(digits) > 15:
        return None
    return -int(digits) if tail.startswith("n") else int(digits)


async def page(
    session: AsyncSession, job: Job, *, limit: int, before: int | None
) -> tuple[list[JobEventView], bool]:
    stored: Sequence[OneEvent] = []
    if before is None or before > 1:
        stored = await queries.events(session, job.id, before=before, limit=limit + 1)
    views = await _views(session, job, stored)
    notes = [(-number, text) for number, text in enumerate(job.warnings)]
    views += [_note(job, number, text) for number, text in notes if before is None or number < before]
    return views[:limit], len(views) > limit


async def _views(session: AsyncSession, job: Job, events: Sequence[OneEvent]) -> list[JobEventView]:
    metrics = [event for event in events if event.type == "metrics"]
    latest: dict[str, OneEvent | None] = {}
    if metrics:
        for kind in ("train", "held_out"):
            latest[kind] = await queries.metrics_before(session, job.id, metrics[-1].seq, kind)
    views = []
    for event in reversed(events):
        if event.type == "metrics":
            latest[str(event.data["kind"])] = event
            views.append(_metrics(job, event, latest))
        else:
            views.append(_message(job, event))
    return views[::-1]


def _metrics(job: Job, event: OneEvent, latest: dict[str, OneEvent | None]) -> JobEventView:
    train, held_out = latest.get("train"), latest.get("held_out")
    data = job_metrics.payload(
        event.data["step"],
        job.steps,
        train.data["values"] if train else {},
        held_out.data["values"] if held_out else {},
        held_out.data["step"] if held_out else None,
        {reward["name"]: reward["type"] for reward in job.resolved_spec["rewards"]},
    )
    return _view(job, event, "info", job_metrics.message(data), data)


def _message(job: Job, event: OneEvent) -> JobEventView:
    data = event.data
    match event.type:
        case "status":
            text = _STATUS.get(data["status"], f"The job is {data['status']}.")
            error = data.get("error") or {}
            text_parts = " ".join(filter(None, (text, error.get("message"), error.get("hint"))))
            level = "error" if data["status"] == "failed" else "warn" if error else "info"
            details = {"status": data["status"], "reason": data.get("reason")}
            return _view(job, event, level, text_parts, details)
        case "checkpoint":
            details = {
                "step": data["step"],
                "id": data["id"],
                "valid_reward_mean": data.get("held_out_reward"),
            }
            return _view(job, event, "info", f"Checkpoint created at step {data['step']}.", details)
        case "finding":
            text_parts = " ".join(filter(None, (data["message"], data.get("hint"))))
            return _view(job, event, LEVELS.get(data["severity"], "info"), text_parts, data)
        case "rewind":
            text_parts = f"The job continues from step {data['to_step']}; later steps are discarded."
            return _view(job, event, "warn", text_parts, data)
        case "change":
            since = f" from step {data['step']} on" if data.get("step") is not None else " (requested)"
            text_parts = f"The reward {data.get('reward')} is {data.get('revision')}{since}."
            return _view(job, event, "info", text_parts, data)
        case _:  # a log line
            return _view(
                job, event, LEVELS.get(data["level"], "info"), data["message"], {"step": data["step"]}
            )


def _view(job: Job, event: OneEvent, level: str, message: str, data: dict[str, Any]) -> JobEventView:
    return JobEventView(
        id=event_id(job.id, event.seq),
        created_at=seconds(event.ts),
        level=level,
        message=message,
        type="metrics" if event.type == "metrics" else "message",
        data=data,
    )


def _note(job: Job, number: int, text: str) -> JobEventView:
    return JobEventView(
        id=event_id(job.id, number),
        created_at=seconds(job.created_at),
        level="warn",
        message=text,
        type="message",
    )
