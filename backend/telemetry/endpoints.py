"""Endpoint `GET /metrics`, for Prometheus."""

import asyncio
import logging

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from backend.access.auth import is_scraper
from backend.data.database import Database
from backend.rpc.broker import BrokerWatch
from backend.telemetry import database_figures
from backend.telemetry.process_figures import PROCESS
from reinforge import __version__
from reinforge.errors import NotAuthenticated

log = logging.getLogger(__name__)
router = APIRouter()

_WITHIN_SECONDS = 8.0
"""Time limit of database queries: less than Prometheus's timeout of ten seconds."""


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Metrics of this process, of the database and of workers. Needs the metrics token."""
    if not is_scraper(request):
        raise NotAuthenticated(
            "The metrics token is missing or wrong.",
            code="invalid_metrics_token",
            hint="Scrape with the value of REINFORGE_METRICS_TOKEN as bearer token.",
        )
    state = request.app.state
    families = [*await _of_database(state.database), *_of_pool(state.database), *_of_broker(state.broker)]
    text = generate_latest(PROCESS) + generate_latest(_registry([_build(), *families]))
    return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)


async def _of_database(database: Database) -> list[Metric]:
    up = GaugeMetricFamily("reinforge_database_up", "1 if the database has answered this scrape.")
    try:
        async with asyncio.timeout(_WITHIN_SECONDS):
            families = await database_figures.read(database)
        up.add_metric((), 1)
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        log.warning("metrics: the database does not answer: %s", error)
        families = []
        up.add_metric((), 0)
    return [up, *families]


def _of_pool(database: Database) -> list[Metric]:
    pool = database.engine.sync_engine.pool
    assert isinstance(pool, QueuePool)
    connections = GaugeMetricFamily(
        "reinforge_database_pool_connections",
        "Connections of this process to the database. Under load, as many again as the size may be open.",
        labels=("state",),
    )
    connections.add_metric(("in_use",), pool.checkedout())
    connections.add_metric(("idle",), pool.checkedin())
    size = GaugeMetricFamily(
        "reinforge_database_pool_size", "REINFORGE_DATABASE_POOL.", value=database.pool_size
    )
    return [connections, size]


def _of_broker(watch: BrokerWatch) -> list[Metric]:
    up = GaugeMetricFamily(
        "reinforge_broker_up", "1 if the broker answers; without it jobs start up to 5 s later."
    )
    if watch.state is not None:
        up.add_metric((), watch.state.error is None)
    return [up]


def _build() -> Metric:
    info = GaugeMetricFamily("reinforge_build_info", "1; the version of this process.", labels=("version",))
    info.add_metric((__version__,), 1)
    return info


def _registry(families: list[Metric]) -> CollectorRegistry:
    class Families(Collector):
        def collect(self) -> list[Metric]:
            return families

    registry = CollectorRegistry()
    registry.register(Families())
    return registry
