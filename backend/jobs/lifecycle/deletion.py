"""Deletes ended jobs whose weights nothing else needs."""

from sqlalchemy import delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.adapters import aliases
from backend.jobs.lifecycle.transitions import unknown_job
from backend.models import Adapter, Checkpoint, Deployment, Job
from reinforge.errors import StateConflict
from reinforge.states import FINAL


async def delete_job(session: AsyncSession, who: Principal, id: str) -> None:
    require_owner(who, "deleting jobs")
    query = select(Job).where(Job.id == id, Job.project_id == who.project_id, Job.purpose == "train")
    job = await session.scalar(query.with_for_update())
    if job is None:
        raise unknown_job(id)
    if job.status not in FINAL:
        raise StateConflict(
            f"The job is {job.status}; only a job that has ended can be deleted.",
            code="job_not_ended",
            hint="Cancel it, and delete it once it has stopped.",
        )
    forks = list(await session.scalars(select(Job.id).where(Job.forked_from_id == id).order_by(Job.id)))
    if forks:
        raise StateConflict(
            f"The job cannot be deleted: it has {len(forks)} forks: {', '.join(forks[:5])}.",
            code="job_has_forks",
            hint="Delete the forks first.",
        )
    weights = or_(
        Deployment.job_id == id,
        Deployment.checkpoint_id.in_(select(Checkpoint.id).where(Checkpoint.job_id == id)),
        Deployment.adapter_id.in_(select(Adapter.id).where(Adapter.job_id == id)),
    )
    names = list(await session.scalars(select(Deployment.name).where(weights).order_by(Deployment.name)))
    if names:
        raise StateConflict(
            f"The job cannot be deleted: these deployments use its weights: {', '.join(names[:5])}.",
            code="job_deployed",
            hint="Point the deployments at other weights, or stop and delete them.",
        )
    adapters = list(await session.scalars(select(Adapter.id).where(Adapter.job_id == id).with_for_update()))
    if alias_names := await aliases.names_of(session, adapters):
        raise StateConflict(
            f"The job cannot be deleted: these aliases point to its adapter: {', '.join(alias_names[:5])}.",
            code="job_has_alias",
            hint="Point the aliases at another adapter, or delete them.",
        )
    await session.execute(delete(Adapter).where(Adapter.job_id == id))
    await session.execute(delete(Job).where(Job.id == id).execution_options(synchronize_session=False))
