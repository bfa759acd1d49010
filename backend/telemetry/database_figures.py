"""Prometheus metrics read from the database at each scrape: every API process reports the same values."""

from datetime import datetime, timedelta
from typing import Any, get_args

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from sqlalchemy import Select, and_, func, or_, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.leader_lock import LOCK_QUERY
from backend.models import (
    Attempt,
    Call,
    ExportRow,
    Job,
    Mail,
    MetricPoint,
    MetricSeries,
    WebhookDelivery,
    Worker,
    now,
)
from backend.rpc.client import ONLINE_SECONDS, stuck
from reinforge.schemas.rpc.base import CallKind
from reinforge.states import LEASED, JobStatus

WORKERS_LISTED = timedelta(hours=1)
_MOST_WORKERS = 500
_MOST_CHARACTERS = 100
_KINDS = ("trainer", "calls")
_PURPOSES = ("train", "preflight")
_CLASSES = ("waiting", "served")


async def read(database: Database) -> list[Metric]:
    async with database.autocommit() as session:
        return [
            *await _jobs(session),
            *await _queue(session),
            *await _calls(session),
            *await _backlogs(session),
            *await _leader(session),
            *await _workers(session),
        ]


async def _jobs(session: AsyncSession) -> list[Metric]:
    family = GaugeMetricFamily(
        "reinforge_jobs", "Jobs by status and purpose (train, preflight).", labels=("status", "purpose")
    )
    query = select(Job.status, Job.purpose, func.count()).group_by(Job.status, Job.purpose)
    counts = {(status, purpose): count for status, purpose, count in await session.execute(query)}
    for status in JobStatus:
        for purpose in _PURPOSES:
            family.add_metric((status.value, purpose), counts.get((status.value, purpose), 0))
    return [family]


async def _queue(session: AsyncSession) -> list[Metric]:
    labels = ("project_class", "purpose")
    depth = GaugeMetricFamily(
        "reinforge_queue_jobs",
        "Queued jobs. project_class: `served` if a worker holds a job of the same project, else `waiting`.",
        labels=labels,
    )
    oldest = GaugeMetricFamily(
        "reinforge_queue_oldest_seconds", "How long the oldest queued job has waited; 0: none.", labels=labels
    )
    served = Job.project_id.in_(select(Job.project_id).where(Job.status.in_(LEASED)))
    query = (
        select(served.label("served"), Job.purpose, func.count(), func.min(Job.queued_at))
        .where(Job.status == JobStatus.QUEUED)
        .group_by("served", Job.purpose)
    )
    rows = {
        (_CLASSES[bool(is_served)], purpose): (count, since)
        for is_served, purpose, count, since in await session.execute(query)
    }
    for project_class in _CLASSES:
        for purpose in _PURPOSES:
            count, since = rows.get((project_class, purpose), (0, None))
            depth.add_metric((project_class, purpose), count)
            oldest.add_metric((project_class, purpose), _age(since))
    return [depth, oldest]


async def _calls(session: AsyncSession) -> list[Metric]:
    waiting = GaugeMetricFamily("reinforge_rpc_waiting", "RPCs that wait for a worker.", labels=("kind",))
    query = (
        select(Call.kind, func.count())
        .where(Call.state == "waiting", Call.deadline > now())
        .group_by(Call.kind)
    )
    counts = {row[0]: row[1] for row in await session.execute(query)}
    for kind in get_args(CallKind):
        waiting.add_metric((kind,), counts.get(kind, 0))
    late = GaugeMetricFamily(
        "reinforge_rpc_late",
        "RPCs that have waited for more than 10 s though their project has none running.",
    )
    late.add_metric((), await stuck(session))
    return [waiting, late]


async def _backlogs(session: AsyncSession) -> list[Metric]:
    pending = GaugeMetricFamily(
        "reinforge_backlog_pending",
        "Messages that have not been delivered yet (webhook, mail), and exports of unfinished jobs (export).",
        labels=("queue",),
    )
    overdue = GaugeMetricFamily(
        "reinforge_backlog_overdue_seconds",
        "Seconds by which the most overdue item is late; 0: none is due.",
        labels=("queue",),
    )
    failed = GaugeMetricFamily(
        "reinforge_backlog_failed",
        "Items that were given up, until they are deleted with their retention.",
        labels=("queue",),
    )
    for name, table, states in (
        ("webhook", WebhookDelivery, ("pending",)),
        ("mail", Mail, ("pending",)),
        ("export", ExportRow, ("pending", "live")),
    ):
        open_item = table.state.in_(states)
        due = func.min(table.next_at).filter(open_item)
        query = select(
            func.count().filter(open_item), due, func.count().filter(table.state == "failed")
        ).where(or_(open_item, table.state == "failed"))
        count, since, abandoned = (await session.execute(query)).one()
        pending.add_metric((name,), count)
        overdue.add_metric((name,), _age(since))
        failed.add_metric((name,), abandoned)
    return [pending, overdue, failed]


async def _leader(session: AsyncSession) -> list[Metric]:
    family = GaugeMetricFamily(
        "reinforge_background_leading", "1 if a background process leads: without one, nothing periodic runs."
    )
    held = await session.scalar(text(LOCK_QUERY))
    family.add_metric((), min(1, held or 0))
    return [family]


async def _workers(session: AsyncSession) -> list[Metric]:
    online = GaugeMetricFamily("reinforge_workers_online", "Workers seen in the last 30 s.", labels=("kind",))
    info = GaugeMetricFamily(
        "reinforge_worker_info",
        "1 for every worker seen in the last hour. engine: the job's, else what `auto` means there.",
        labels=("worker", "kind", "hostname", "version", "device", "engine"),
    )
    age = GaugeMetricFamily(
        "reinforge_worker_heartbeat_age_seconds", "Time since the last keep-alive.", labels=("worker", "kind")
    )
    busy = GaugeMetricFamily("reinforge_worker_busy", "1 while the worker holds a job.", labels=("worker",))
    query = select(Worker).where(Worker.last_seen_at > now() - WORKERS_LISTED)
    rows = (await session.scalars(query.order_by(Worker.last_seen_at.desc()).limit(_MOST_WORKERS))).all()
    facts = await _facts_of_running(session)
    since = now() - timedelta(seconds=ONLINE_SECONDS)
    for kind in _KINDS:
        online.add_metric((kind,), sum(row.kind == kind and row.last_seen_at > since for row in rows))
    for row in rows:
        engine = facts.get(row.id, {}).get("engine") or (row.engines or [""])[0]
        described = (row.id, row.kind, row.hostname, row.version, row.device or "", str(engine))
        info.add_metric([value[:_MOST_CHARACTERS] for value in described], 1)
        age.add_metric((row.id, row.kind), _age(row.last_seen_at))
        if row.kind == "trainer":
            busy.add_metric((row.id,), row.id in facts)
    return [online, info, age, busy, await _memory(session, {row.id for row in rows}, facts)]


def _running() -> Select[Any]:
    held = and_(Job.status.in_(LEASED), Job.lease_until.is_not(None))
    return (
        select(Attempt.worker_id, Job.id, Job.facts)
        .join(Job, (Job.id == Attempt.job_id) & (Job.attempt == Attempt.number))
        .where(held)
    )


async def _facts_of_running(session: AsyncSession) -> dict[str, dict[str, Any]]:
    return {worker: facts for worker, _, facts in await session.execute(_running())}


async def _memory(session: AsyncSession, workers: set[str], facts: dict[str, dict[str, Any]]) -> Metric:
    family = GaugeMetricFamily(
        "reinforge_worker_peak_memory_bytes",
        "Peak memory of the running job's trainer at its newest step. memory: gpu (allocated by torch) or host.",
        labels=("worker", "memory"),
    )
    running = _running().subquery()
    newest = (
        select(MetricPoint.value)
        .join(MetricSeries, MetricSeries.id == MetricPoint.series_id)
        .where(
            MetricSeries.job_id == running.c.id,
            MetricSeries.kind == "train",
            MetricSeries.key == "memory/peak",
        )
        .order_by(MetricPoint.step.desc())
        .limit(1)
        .scalar_subquery()
    )
    for worker, gib in await session.execute(select(running.c.worker_id, newest)):
        if worker in workers and gib is not None:
            gpu = str(facts.get(worker, {}).get("device", "")).startswith("cuda")
            family.add_metric((worker, "gpu" if gpu else "host"), gib * 2**30)
    return family


def _age(since: datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (now() - since).total_seconds())
