"""Job queue, fair between projects."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Subquery, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring import findings
from backend.jobs.view import job_detail, job_view
from backend.models import Attempt, Job, Project, Worker, now
from backend.rpc.client import ONLINE_SECONDS
from reinforge.net.broker import IDLE_POLL_SECONDS, BrokerState
from reinforge.schemas.jobs import Job as JobView
from reinforge.schemas.jobs import JobDetail, QueuePlace
from reinforge.states import LEASED, JobStatus


def _line() -> Subquery:
    running_jobs = (
        select(Job.project_id, func.count().label("jobs"))
        .where(Job.status.in_(LEASED))
        .group_by(Job.project_id)
        .subquery()
    )
    among_its_own = func.row_number().over(partition_by=Job.project_id, order_by=(Job.queued_at, Job.id))
    waiting = (
        select(
            Job.id,
            Job.queued_at,
            Project.served_at,
            (among_its_own + func.coalesce(running_jobs.c.jobs, 0)).label("turn"),
        )
        .join(Project, Project.id == Job.project_id)
        .outerjoin(running_jobs, running_jobs.c.project_id == Job.project_id)
        .where(Job.status == JobStatus.QUEUED)
        .subquery()
    )
    order = (waiting.c.turn, waiting.c.served_at.asc().nulls_first(), waiting.c.queued_at, waiting.c.id)
    return select(waiting.c.id, func.row_number().over(order_by=order).label("place")).subquery()


async def next_job(session: AsyncSession) -> Job | None:
    line = _line()
    job: Job | None = await session.scalar(
        select(Job)
        .join(line, line.c.id == Job.id)
        .where(Job.status == JobStatus.QUEUED)
        .order_by(line.c.place)
        .limit(1)
        .with_for_update(of=Job, skip_locked=True)
    )
    return job


async def served(session: AsyncSession, job: Job) -> None:
    project = await session.get_one(Project, job.project_id)
    project.served_at = now()


async def places(
    session: AsyncSession, jobs: Sequence[Job], broker: BrokerState | None = None
) -> dict[str, QueuePlace]:
    queued = [job.id for job in jobs if job.status == JobStatus.QUEUED]
    if not queued:
        return {}
    line = _line()
    total = select(func.count()).select_from(line).scalar_subquery()
    rows = await session.execute(select(line.c.id, line.c.place, total).where(line.c.id.in_(queued)))
    online, idle = await workers(session)
    waiting_for = await _waiting_workers(session)
    free = idle - len(waiting_for)
    notice = _notice(broker) or (f"{waiting_for[0]}." if waiting_for and free <= 0 else None)
    positions = {}
    for id, place, waiting in rows:
        reason = "no_worker" if not online else "about_to_start" if place <= free else "workers_busy"
        positions[id] = QueuePlace(position=place, of=waiting, reason=reason, workers=online, notice=notice)
    return positions


def _notice(broker: BrokerState | None) -> str | None:
    if broker is None or broker.problem is None:
        return None
    return (
        f"{broker.problem.rstrip('.')}. Until this is fixed, free workers look for jobs every "
        f"{IDLE_POLL_SECONDS:.0f} s."
    )


async def workers(session: AsyncSession) -> tuple[int, int]:
    busy = (
        select(Attempt.worker_id)
        .join(Job, (Job.id == Attempt.job_id) & (Job.attempt == Attempt.number))
        .where(Job.status.in_(LEASED), Job.lease_until.is_not(None))
    )
    online_trainers = (
        Worker.kind == "trainer",
        Worker.last_seen_at > now() - timedelta(seconds=ONLINE_SECONDS),
    )
    counted = select(func.count(), func.count().filter(Worker.id.not_in(busy))).where(*online_trainers)
    online, idle = (await session.execute(counted)).one()
    return int(online), int(idle)


async def _waiting_workers(session: AsyncSession) -> list[str]:
    online_since = now() - timedelta(seconds=ONLINE_SECONDS)
    query = select(Worker.hostname, Worker.waits_for).where(
        Worker.kind == "trainer", Worker.last_seen_at > online_since, Worker.waits_for.is_not(None)
    )
    return [
        f"{hostname}: {waits_for}" for hostname, waits_for in await session.execute(query.order_by(Worker.id))
    ]


async def detail(session: AsyncSession, job: Job, broker: BrokerState | None = None) -> JobDetail:
    positions = await places(session, [job], broker)
    heads = await findings.heads(session, [job.id])
    return job_detail(job).model_copy(update={"queue": positions.get(job.id), "finding": heads.get(job.id)})


async def job_views(
    session: AsyncSession, jobs: Sequence[Job], broker: BrokerState | None = None
) -> list[JobView]:
    positions = await places(session, jobs, broker)
    heads = await findings.heads(session, [job.id for job in jobs])
    return [
        job_view(job).model_copy(update={"queue": positions.get(job.id), "finding": heads.get(job.id)})
        for job in jobs
    ]
