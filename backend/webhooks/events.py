"""Webhook events, in OpenAI's format, stored in the transaction that causes them."""

import json
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.models import EvaluationRow, Job, Webhook, WebhookDelivery, now
from backend.notifications.events import queue_mails
from backend.webhooks import repository
from reinforge.states import JobStatus

RETRIED_FOR = timedelta(hours=72)
_OF_STATUS = {
    JobStatus.RUNNING: "fine_tuning.job.running",
    JobStatus.PAUSED: "fine_tuning.job.paused",
    JobStatus.SUCCEEDED: "fine_tuning.job.succeeded",
    JobStatus.FAILED: "fine_tuning.job.failed",
    JobStatus.CANCELLED: "fine_tuning.job.cancelled",
}


async def queue_job_event(session: AsyncSession, job: Job) -> None:
    type = _OF_STATUS.get(JobStatus(job.status))
    if type is not None and job.purpose == "train":
        data = {"id": job.id, "name": job.name, "status": job.status, "reason": job.reason}
        if job.verdict is not None:
            data |= {"verdict": job.verdict["outcome"], "verdict_message": job.verdict["message"]}
        await queue_event(session, job.project_id, type, data)


async def queue_finding_event(session: AsyncSession, job: Job, finding: dict[str, Any]) -> None:
    if job.purpose == "train":
        data = {"id": job.id, "name": job.name, "status": job.status}
        data |= {key: finding[key] for key in ("code", "severity", "step", "message", "hint")}
        await queue_event(session, job.project_id, "fine_tuning.job.finding", data)


async def queue_evaluation_event(session: AsyncSession, row: EvaluationRow) -> None:
    if row.status in ("succeeded", "failed"):
        data = {"id": row.id, "name": row.name, "kind": row.kind, "status": row.status}
        await queue_event(session, row.project_id, f"evaluation.{row.status}", data)


async def queue_event(session: AsyncSession, project_id: str, type: str, data: dict[str, Any]) -> None:
    await queue_mails(session, project_id, type, data)
    hooks = [hook for hook in await repository.listening(session, project_id) if wants(hook, type)]
    if hooks:
        event = new_id("evt_")
        for hook in hooks:
            session.add(delivery(hook, type, data, event))


def wants(hook: Webhook, type: str) -> bool:
    return not hook.events or type in hook.events


def delivery(hook: Webhook, type: str, data: dict[str, Any], event: str) -> WebhookDelivery:
    moment = now()
    body = {"id": event, "object": "event", "created_at": int(moment.timestamp()), "type": type, "data": data}
    return WebhookDelivery(
        id=new_id("msg_"),
        webhook_id=hook.id,
        event_id=event,
        type=type,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        state="pending",
        tries=0,
        next_at=moment,
        give_up_at=moment + RETRIED_FOR,
        created_at=moment,
    )
