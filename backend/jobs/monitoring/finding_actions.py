"""Automatic actions on findings, as set by `diagnosis.on_finding` in a job's specification."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.jobs.lifecycle import changes, roll_back, transitions
from backend.models import AuditEntry, Job
from reinforge.diagnosis.finding import JobFinding
from reinforge.diagnosis.job_input import LEARNING_RATE, JobInput
from reinforge.errors import InvalidInput
from reinforge.schemas.job_changes import SettingChangeCreate
from reinforge.states import JobStatus

REASON = "diagnosis"
ACTOR = "Diagnosis"
"""Actor in the audit log and in the list of a job's changes."""


async def act(session: AsyncSession, job: Job, finding: JobFinding, read: JobInput) -> None:
    """Take the action that the specification of a locked, running job sets for a new finding."""
    action = read.setting("diagnosis.on_finding", {}).get(finding.code)
    if action is None or finding.cause is not None or job.status != JobStatus.RUNNING:
        return
    await session.flush()  # a change reads the job's row again
    details: dict[str, Any] = {"name": job.name, "kind": finding.code}
    if action == "lower_rate":
        rate = read.lower_rate()
        if rate is None or not await _lower(session, job, rate):
            return
        details["amount"] = rate
    elif action == "roll_back":
        to_step = await _roll_back(session, job, finding, read)
        if to_step is None:
            action = "pause"
        else:
            details["amount"] = to_step
    if action in ("stop", "pause"):
        end = transitions.cancel if action == "stop" else transitions.pause
        await end(session, job, reason=REASON, error=_error(finding))
    entry = AuditEntry(
        id=new_id("aud_"),
        project_id=job.project_id,
        actor=REASON,
        actor_name=ACTOR,
        action=f"diagnosis.{action}",
        target=job.id,
        details=details,
    )
    session.add(entry)


async def _roll_back(session: AsyncSession, job: Job, finding: JobFinding, read: JobInput) -> int | None:
    """Roll the job back; returns the step that it continues after. None if no saved step precedes the
    cause, or if the job was rolled back for this kind of finding before.
    """
    rate = read.lower_rate()
    earlier = select(AuditEntry.id).where(
        AuditEntry.project_id == job.project_id,
        AuditEntry.target == job.id,
        AuditEntry.action == "diagnosis.roll_back",
        AuditEntry.details["kind"].as_string() == finding.code,
    )
    if rate is None or await session.scalar(earlier.limit(1)) is not None:
        return None
    begun = finding.step if finding.earliest is None else min(finding.step, finding.earliest)
    # What shows at a step was done by the update of the step before, which that step's saved state holds.
    to_step = await roll_back.step_before(session, job, begun - 1)
    if to_step is None:
        return None
    message = f"{finding.title} (since step {finding.step}): {finding.message.rstrip('.')}."
    await roll_back.roll_back(session, job, to_step, rate, message=message, created_by=ACTOR)
    return to_step


async def _lower(session: AsyncSession, job: Job, rate: float) -> bool:
    """Returns False if the rate cannot be changed."""
    try:
        await changes.add_setting(session, job, SettingChangeCreate(setting=LEARNING_RATE, value=rate), ACTOR)
    except InvalidInput:
        return False
    return True


def _error(finding: JobFinding) -> dict[str, Any]:
    message = f"{finding.title}: {finding.message}"
    return {"code": REASON, "message": message, "hint": finding.advice, "traceback": None}
