"""Creates, finds, cancels, pauses and resumes jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.data.ids import new_id
from backend.jobs import repository
from backend.jobs.lifecycle import transitions
from backend.jobs.naming import unique_name
from backend.jobs.submission.validate_references import JobPlan, PinnedReward
from backend.models import Checkpoint, Job, JobReward, now
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from backend.trackers import service as trackers
from reinforge.spec import JobSpec
from reinforge.states import JobStatus


def dataset_cache(settings: Settings) -> Path:
    return settings.home_folder / "cache" / "datasets"


async def create(
    session: AsyncSession,
    project_id: str,
    plan: JobPlan,
    raw_spec: dict[str, Any],
    created_by: str,
    wake_ups: WakeUps,
    *,
    purpose: Literal["train", "preflight"] = "train",
    openai: dict[str, Any] | None = None,
    default_name: str | None = None,
) -> Job:
    await usage.require_budget(session, project_id, usage.TRAINING)
    spec = plan.spec
    resolved = resolve(plan)
    name = spec.name or default_name or _default_name(plan)
    if not spec.name and purpose == "train":
        name = await unique_name(session, project_id, name, resolved.model_dump(mode="json"))
    if default_name is not None:
        resolved = resolved.model_copy(update={"name": name})
    job = Job(
        id=new_id("ftjob-"),
        project_id=project_id,
        name=name,
        purpose=purpose,
        status=JobStatus.VALIDATING,
        spec=raw_spec,
        resolved_spec=resolved.model_dump(mode="json"),
        model_id=plan.model.id,
        model_key=plan.model.key,
        model_sha256=plan.model.sha256,
        dataset_id=plan.dataset.id,
        held_out_dataset_id=plan.held_out.id if plan.held_out else None,
        start_sha256=plan.start.sha256 if plan.start else None,
        start=plan.start.facts if plan.start else None,
        openai=openai,
        warnings=list(plan.warnings),
        facts={},
        jail=plan.jail,
        created_by=created_by,
        created_at=now(),
        step=0,
        steps=spec.limits.steps,
        recent_step_seconds=[],
        seq=0,
        attempt=0,
        lost_attempts=0,
    )
    session.add(job)
    await session.flush()
    session.add_all(_pinned(job.id, position, reward) for position, reward in enumerate(plan.rewards))
    await transitions.enqueue(session, job, wake_ups)
    await trackers.export_new_job(session, job)
    await session.flush()
    return job


def _default_name(plan: JobPlan) -> str:
    name = f"{plan.model.id} on {plan.dataset.name}"
    return name if plan.start is None else f"{name}, from {plan.start.name}"


def _pinned(job_id: str, position: int, reward: PinnedReward) -> JobReward:
    return JobReward(
        job_id=job_id,
        position=position,
        name=reward.name,
        kind=reward.kind,
        reward_id=reward.reward_id,
        revision=reward.revision,
        source=None if reward.reward_id else reward.source,
        sha256=reward.sha256,
    )


async def get(session: AsyncSession, project_id: str, job_id: str) -> Job:
    return await repository.find(session, project_id, job_id)


async def find_alive(session: AsyncSession, project_id: str, key: str, value: str) -> Job | None:
    return await repository.find_alive(session, project_id, key, value)


async def unfinished_by_metadata(
    session: AsyncSession, project_id: str, keys: Sequence[str]
) -> dict[str, Job]:
    """Map metadata values to their newest unfinished jobs. A job's value is that of the first key of
    `keys` that it has.
    """
    return await repository.unfinished_by_metadata(session, project_id, keys)


async def find_by_code(session: AsyncSession, model_id: str, code: str) -> Job | None:
    """The newest training job on `model_id`, in any project, whose id begins with `ftjob-` and `code`."""
    return await repository.find_by_code(session, model_id, code)


async def find_checkpoint(session: AsyncSession, job_id: str, step: int) -> Checkpoint | None:
    return await repository.find_checkpoint(session, job_id, step)


async def shared(session: AsyncSession, checkpoint_id: str, project_id: str) -> bool:
    return await repository.shared(session, checkpoint_id, project_id)


async def any_job(session: AsyncSession, project_id: str) -> bool:
    return await repository.any_job(session, project_id)


def resolve(plan: JobPlan) -> JobSpec:
    """The specification with all defaults and pinned reward revisions; the learning rate stays `auto` until a
    worker has read the hidden size.
    """
    spec = plan.spec.resolved(engine=plan.engine, hidden_size=plan.hidden_size).model_dump()
    spec["rollout"]["max_prompt_tokens"] = plan.prompt_limit
    spec["rewards"] = [
        _resolved(reward, pinned) for reward, pinned in zip(spec["rewards"], plan.rewards, strict=True)
    ]
    return JobSpec.model_validate(spec)


def _resolved(reward: dict[str, Any], pinned: PinnedReward) -> dict[str, Any]:
    if pinned.grader is None:
        return reward | {"entry": pinned.entry, "revision": pinned.revision}
    if pinned.reward_id is None:
        return reward
    # A stored reward's id does not say what it is: from here on the specification does.
    common = {key: reward[key] for key in ("name", "weight", "on_error")}
    return common | {"type": "grader", "reward": pinned.reward_id, "revision": pinned.revision}


async def cancel(session: AsyncSession, project_id: str, job_id: str) -> Job:
    job = await transitions.lock_job(session, job_id, project_id)
    await transitions.cancel(session, job)
    return job


async def pause(session: AsyncSession, project_id: str, job_id: str) -> Job:
    job = await transitions.lock_job(session, job_id, project_id)
    await transitions.pause(session, job)
    return job


async def resume(session: AsyncSession, project_id: str, job_id: str, wake_ups: WakeUps) -> Job:
    job = await transitions.lock_job(session, job_id, project_id)
    await usage.require_budget(session, project_id, usage.TRAINING)
    await transitions.resume(session, job, wake_ups)
    return job
