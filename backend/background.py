"""`python -m backend background`: periodic work. Of several such processes, only the holder of an advisory
lock does it.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from backend.agents import rollouts as agent_rollouts
from backend.agents.model_calls import ModelCalls
from backend.data.database import Database
from backend.data.events import Hub
from backend.data.leader_lock import LEADER_LOCK
from backend.data.objects import Objects, configured_store
from backend.data.sealing import Sealer
from backend.datasets import service as datasets
from backend.datasets.uploads import resumable
from backend.deployments.serving import sweep as sweep_deployments
from backend.http import idempotency
from backend.jobs.lifecycle.leases import expire_leases, stop_overdue, wake_queued
from backend.notifications import delivery as mails
from backend.processes.pool import close_children
from backend.rpc.client import Calls
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from backend.sweeps.controller import SweepController
from backend.trackers import exporter as exports
from backend.usage import service as usage
from backend.users import service as users
from backend.webhooks import delivery as webhooks
from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_api import LEASE_SECONDS

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0


@dataclass
class Duty:
    name: str
    every: float
    action: Callable[[], Awaitable[Any]]
    first_after: float = 0.0
    due: float = field(default=0.0, init=False)


class Leader:
    def __init__(
        self,
        database: Database,
        objects: Objects,
        wake_ups: WakeUps,
        lease_seconds: float = LEASE_SECONDS,
        sweeps: SweepController | None = None,
    ) -> None:
        self.database, self.objects, self.wake_ups = database, objects, wake_ups
        self.calls = Calls(database, Hub(database.conninfo))
        self.model_calls = ModelCalls(database, self.calls.hub)
        self.sweeps = sweeps
        self.sweeping: asyncio.Task[None] | None = None
        # Workers could not renew their leases while the platform was down: they get a whole lease's time first.
        self.duties = [
            Duty("leases", 2.0, self.leases, first_after=lease_seconds),
            Duty("wake-ups", 5.0, self.wake_ups_again),
            Duty("calls", 60.0, self.calls.clean_up),
            Duty("rollouts of agents", 60.0, self.agents),
            Duty("sweeps", 2.0, self.advance_sweeps),
            Duty("deployments", 30.0, self.deployments),
            Duty("sessions", 600.0, self.forget),
            Duty("storage", 3600.0, self.measure_storage),
            Duty("files", 60.0, self.expire_files),
            Duty("objects", 600.0, self.objects_sweep),
        ]

    async def leases(self) -> None:
        for job in await expire_leases(self.database, self.wake_ups):
            log.warning("the worker of %s was lost", job)
        for job in await stop_overdue(self.database):
            log.warning("the trainer of %s did not stop in time", job)

    async def wake_ups_again(self) -> None:
        for job in await wake_queued(self.database, self.wake_ups):
            log.info("announced the queued job %s to the workers again", job)

    async def deployments(self) -> None:
        async with self.database.transaction() as session:
            await sweep_deployments(session)

    async def agents(self) -> None:
        await self.model_calls.clean_up()
        async with self.database.transaction() as session:
            await agent_rollouts.clean_up(session)

    async def advance_sweeps(self) -> None:
        if self.sweeps is not None and (self.sweeping is None or self.sweeping.done()):
            self.sweeping = asyncio.create_task(self.sweeps.tick(), name="sweeps")

    async def measure_storage(self) -> None:
        async with self.database.transaction() as session:
            await usage.measure_storage(session)

    async def forget(self) -> None:
        async with self.database.transaction() as session:
            await users.forget_expired(session)
            await idempotency.forget_old(session)
        await webhooks.forget_old(self.database)
        await mails.forget_old(self.database)

    async def expire_files(self) -> None:
        await resumable.expire(self.database, self.objects)
        async with self.database.transaction() as session:
            if expired := await datasets.expire(session):
                log.info("deleted %d expired files", expired)

    async def objects_sweep(self) -> None:
        if deleted := await self.objects.sweep_orphans():
            log.info("deleted %d objects that nothing refers to", deleted)

    async def lead(self, still_leading: Callable[[], Awaitable[None]]) -> None:
        """Run the duties until `still_leading` raises. A failed duty is logged and retried."""
        clock = asyncio.get_running_loop().time
        for duty in self.duties:
            duty.due = clock() + duty.first_after
        while True:
            await still_leading()
            for duty in self.duties:
                if clock() < duty.due:
                    continue
                try:
                    await duty.action()
                except (SQLAlchemyError, ReinforgeError, OSError):
                    log.exception("the periodic task %s failed", duty.name)
                duty.due = clock() + duty.every
            await asyncio.sleep(max(0.05, min(duty.due for duty in self.duties) - clock()))


async def run(settings: Settings) -> None:
    database = Database(settings.required_database_url(), pool_size=2)
    wake_ups = WakeUps(settings)
    objects = Objects(database, await asyncio.to_thread(configured_store, settings))
    sweeps = SweepController(database, objects, wake_ups, settings)
    leader = Leader(database, objects, wake_ups, settings.lease_seconds, sweeps)
    task = asyncio.create_task(_lead_forever(database, leader))
    # Whoever leads or not: a slow receiver must not hold up the leases.
    sealer = Sealer(settings)
    sending = [
        asyncio.create_task(send_forever(name, send_due, full=full, pause=pause))
        for name, send_due, full, pause in (
            (
                "webhooks",
                webhooks.Deliveries(database, sealer, settings.guard).send_due,
                webhooks.AT_ONCE,
                webhooks.LOOK_SECONDS,
            ),
            (
                "e-mails",
                mails.MailDeliveries(database, sealer, settings).send_due,
                mails.AT_ONCE,
                mails.LOOK_SECONDS,
            ),
            (
                "exports",
                exports.JobExports(database, sealer, settings).send_due,
                exports.AT_ONCE,
                exports.LOOK_SECONDS,
            ),
        )
    ]
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")
    finally:
        tasks = [*sending, *([leader.sweeping] if leader.sweeping is not None else [])]
        for other in tasks:
            other.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await sweeps.close()
        await close_children()
        wake_ups.close()
        await database.close()


async def send_forever(name: str, send_due: Callable[[], Awaitable[int]], *, full: int, pause: float) -> None:
    """Looks again after `pause` seconds, or at once after sending `full` messages."""
    while True:
        count = 0
        try:
            count = await send_due()
        except (SQLAlchemyError, ReinforgeError) as error:
            log.warning("could not send %s, trying again: %s", name, error)
        except Exception:
            # Nothing restarts this task: no error may end the sending of every project.
            log.exception("could not send %s, trying again", name)
        if count < full:
            await asyncio.sleep(pause)


async def _lead_forever(database: Database, leader: Leader) -> None:
    """Compete for the lock, then lead. A leader that loses the connection stops at once and competes again."""
    while True:
        try:
            connection = await psycopg.AsyncConnection.connect(database.conninfo, autocommit=True)
            async with connection:
                await _win(connection)
                log.info("leading")

                async def still_leading(lock_connection: "psycopg.AsyncConnection[Any]" = connection) -> None:
                    await lock_connection.execute("SELECT 1")

                await leader.lead(still_leading)
        except psycopg.OperationalError as error:
            log.warning("not leading, the database does not answer: %s", str(error).strip())
            await asyncio.sleep(RETRY_SECONDS)


async def _win(connection: "psycopg.AsyncConnection[Any]") -> None:
    while True:
        cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (LEADER_LOCK,))
        row = await cursor.fetchone()
        if row is not None and row[0]:
            return
        await asyncio.sleep(RETRY_SECONDS)
