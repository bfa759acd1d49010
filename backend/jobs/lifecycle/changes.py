"""Changes to a running job, delivered with heartbeats."""

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.jobs.lifecycle import transitions
from backend.jobs.submission.pinned_rewards import pinned_reward
from backend.models import Dataset, Job, JobChange, JobReward, RewardRevision, now
from backend.rewards import service as rewards
from reinforge.algorithm.live_settings import SETTINGS, live_settings, with_setting
from reinforge.dataset import ColumnRoles
from reinforge.errors import InvalidInput, StateConflict
from reinforge.grading.multi import checkpoints, judges
from reinforge.grading.source import parse_grader
from reinforge.records import CHANGE, Change, RewardChange, ScheduledChange, SettingChange
from reinforge.reward_spec.columns import IN_A_JOB, missing_columns
from reinforge.schemas.job_changes import JobChangeView, JobSetting, RewardChangeCreate, SettingChangeCreate
from reinforge.spec import JobSpec
from reinforge.states import FINAL, JobStatus


async def look_up(session: AsyncSession, job: Job, body: RewardChangeCreate) -> tuple[int, RewardChange]:
    if JobStatus(job.status) in FINAL:
        raise StateConflict(
            f"The job is {job.status}, so its rewards cannot be changed.",
            code="job_ended",
            hint="Start a new job with the other revision.",
        )
    pinned = await pinned_reward(session, job.id, body.reward)
    name = pinned.name
    stored = body.stored or pinned.reward_id
    if stored is None:
        raise InvalidInput(
            f"The job's reward {name!r} is inline, so no stored reward has revisions of it.",
            code="no_revision",
            param="stored",
            hint="Store the changed code as a reward and pass its id here.",
        )
    reward, revision = await rewards.get_revision(session, job.project_id, stored, body.revision)
    await _check_columns(session, job, name, revision)
    kind: Literal["python", "grader"] = "grader" if revision.kind == "grader" else "python"
    written_out = pinned.reward_id is None and kind == "grader"
    if kind != pinned.kind or written_out:
        raise InvalidInput(
            f"{reward.id}, a stored {kind} reward, cannot replace {name!r}, which is {_words(pinned)}.",
            code="other_kind",
            param="stored",
            hint="Start a new job with this revision.",
        )
    if kind == "grader":
        before = await rewards.get_revision(session, job.project_id, str(pinned.reward_id), pinned.revision)
        _check_same_services(before[1].source, revision.source)
    label = f"{reward.id}@{revision.revision}"
    change = RewardChange(name=name, source=revision.source, entry=revision.entry, revision=label, kind=kind)
    return pinned.position, change


async def _check_columns(session: AsyncSession, job: Job, name: str, revision: RewardRevision) -> None:
    reads = rewards.columns_read(revision.source, revision.entry, revision.entries)
    roles = ColumnRoles.model_validate(job.resolved_spec["data"]["columns"])
    for id in filter(None, (job.dataset_id, job.held_out_dataset_id)):
        dataset = await session.get(Dataset, id)
        names = [str(column["name"]) for column in dataset.columns] if dataset is not None else []
        if dataset is not None and (
            missing := missing_columns(
                name, reads, dataset.name, names, roles, param="revision", declare=f"{IN_A_JOB} in a new job"
            )
        ):
            raise missing[0]


def _check_same_services(before: str, after: str) -> None:
    old, new = parse_grader(before), parse_grader(after)
    more = (judges(new) - judges(old)) | (checkpoints(new) - checkpoints(old))
    if more:
        raise InvalidInput(
            f"The revision uses judges or models that the job's reward lacks: {', '.join(sorted(more))}.",
            code="other_services",
            param="revision",
            hint="Start a new job with this revision.",
        )


def _words(reward: JobReward) -> str:
    if reward.kind == "python":
        return "Python code"
    return "a grader" if reward.reward_id else "an inline grader"


async def add(session: AsyncSession, job_id: str, change: Change, created_by: str) -> JobChange:
    job = await transitions.lock_job(session, job_id)
    if JobStatus(job.status) in FINAL:
        raise StateConflict(f"The job is {job.status}, so it cannot be changed.", code="job_ended")
    row = JobChange(
        id=new_id("chg_"),
        job_id=job.id,
        change=change.model_dump(),
        created_by=created_by,
        created_at=now(),
    )
    session.add(row)
    await transitions.append_event(session, job, "change", view(row).model_dump(mode="json"))
    await session.flush()
    return row


async def add_setting(
    session: AsyncSession, job: Job, body: SettingChangeCreate, created_by: str
) -> JobChange:
    if JobStatus(job.status) in FINAL:
        raise StateConflict(
            f"The job is {job.status}, so its settings cannot be changed.",
            code="job_ended",
            hint="Start a new job with the other value.",
        )
    spec = await spec_now(session, job)
    before = live_settings(spec).get(body.setting)
    with_setting(spec, body.setting, body.value)
    assert before is not None, "a live setting has a value"
    return await add(
        session, job.id, SettingChange(setting=body.setting, value=body.value, before=before), created_by
    )


async def spec_now(session: AsyncSession, job: Job) -> JobSpec:
    spec = JobSpec.model_validate(job.resolved_spec)
    for row in await of_job(session, job.id):
        change = CHANGE.validate_python(row.change)
        if isinstance(change, SettingChange):
            spec = with_setting(spec, change.setting, change.value)
    return spec


async def settings(session: AsyncSession, job: Job) -> list[JobSetting]:
    first = live_settings(JobSpec.model_validate(job.resolved_spec))
    current = live_settings(await spec_now(session, job))
    return [
        JobSetting(setting=path, title=SETTINGS[path], value=current[path], created_with=value)
        for path, value in first.items()
    ]


async def of_job(session: AsyncSession, job_id: str) -> Sequence[JobChange]:
    query = select(JobChange).where(JobChange.job_id == job_id)
    return (await session.scalars(query.order_by(JobChange.created_at, JobChange.id))).all()


async def scheduled(session: AsyncSession, job_id: str) -> list[ScheduledChange]:
    """Applied changes, ordered by step. Omits a change of a setting if a later request changed that
    setting at the same or an earlier step, as a roll back does.
    """
    first_step: dict[str, int] = {}
    result: list[ScheduledChange] = []
    for row in reversed(await of_job(session, job_id)):
        if row.applied_step is None:
            continue
        change = CHANGE.validate_python(row.change)
        if isinstance(change, SettingChange):
            if row.applied_step >= first_step.get(change.setting, row.applied_step + 1):
                continue
            first_step[change.setting] = row.applied_step
        result.insert(0, ScheduledChange(id=row.id, step=row.applied_step, change=change))
    return sorted(result, key=lambda change: change.step)


async def mark_applied(session: AsyncSession, job: Job, id: str, step: int) -> None:
    row = await session.get(JobChange, id)
    if row is None or row.job_id != job.id:
        return
    if row.applied_step is None:
        row.applied_step, row.applied_at = step, now()
    await transitions.append_event(session, job, "change", view(row).model_dump(mode="json"), step=step)


def view(row: JobChange) -> JobChangeView:
    change = CHANGE.validate_python(row.change)
    details = (
        {"reward": change.name, "revision": change.revision}
        if isinstance(change, RewardChange)
        else change.model_dump(exclude={"type"}) | {"title": SETTINGS.get(change.setting, change.setting)}
    )
    return JobChangeView(
        id=row.id,
        job=row.job_id,
        type=change.type,
        step=row.applied_step,
        created_by=row.created_by,
        created_at=row.created_at,
        applied_at=row.applied_at,
        **details,
    )
