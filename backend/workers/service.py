"""Registry of workers."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.events import notify
from backend.models import Attempt, Call, Job, Worker, now
from backend.rpc.client import ONLINE_SECONDS
from reinforge.net.broker import BrokerState, wake_up_problem
from reinforge.schemas.resources import WorkerInfo
from reinforge.schemas.worker_api import Register
from reinforge.states import LEASED

_LISTED = timedelta(days=7)


async def register(session: AsyncSession, body: Register) -> None:
    """Running calls of an earlier process with the worker's id fail at once."""
    values = body.model_dump() | {"last_seen_at": now()}
    worker = await session.get(Worker, body.id, with_for_update=True)
    if worker is None or worker.process != body.process:
        values["registered_at"] = now()
        for call in await session.scalars(
            select(Call.id).where(Call.worker_id == body.id, Call.state == "taken")
        ):
            await notify(session, f"call:{call}")
    await session.execute(
        insert(Worker)
        .values({"registered_at": now()} | values)
        .on_conflict_do_update(index_elements=["id"], set_=values)
    )


async def list_workers(
    session: AsyncSession, project_id: str, broker: BrokerState | None
) -> list[WorkerInfo]:
    query = select(Worker).where(Worker.last_seen_at > now() - _LISTED).order_by(Worker.last_seen_at.desc())
    workers: Sequence[Worker] = (await session.scalars(query)).all()
    running = await session.execute(
        select(Attempt.worker_id, Job.id, Job.project_id)
        .join(Job, (Job.id == Attempt.job_id) & (Job.attempt == Attempt.number))
        .where(Job.status.in_(LEASED), Job.lease_until.is_not(None))
    )
    jobs = {row.worker_id: row.id if row.project_id == project_id else None for row in running}
    online_since = now() - timedelta(seconds=ONLINE_SECONDS)
    return [
        WorkerInfo(
            id=worker.id,
            kind=worker.kind,
            hostname=worker.hostname,
            online=worker.last_seen_at > online_since,
            jail=worker.jail,
            jail_reasons=worker.jail_reasons,
            device=worker.device,
            answers=worker.answers,
            version=worker.version,
            last_seen_at=worker.last_seen_at,
            job=jobs.get(worker.id),
            busy=worker.id in jobs,
            notice=_notice(worker, broker),
        )
        for worker in workers
    ]


def _notice(worker: Worker, broker: BrokerState | None) -> str | None:
    if worker.waits_for is not None:
        return f"The worker does not take jobs: {worker.waits_for}."
    if worker.broker is None:
        return None
    return wake_up_problem(BrokerState.model_validate(worker.broker), broker)
