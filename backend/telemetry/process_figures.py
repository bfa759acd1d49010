"""Prometheus metrics that this process counts itself.

No label names a project, user, job, model or address, as the number of these has no limit.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from reinforge.errors import ReinforgeError, Unavailable
from reinforge.records import StepMetrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each, which no query needs
PROCESS = CollectorRegistry()
ProcessCollector(registry=PROCESS)

_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_DELAY_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_RPC_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

REQUESTS = Counter(
    "reinforge_http_requests",
    "Requests by method, route template and status code.",
    ("method", "route", "code"),
    registry=PROCESS,
)
REQUEST_SECONDS = Histogram(
    "reinforge_http_request_duration_seconds",
    "Time until the headers of the response; long polls and event streams included.",
    ("method", "route"),
    registry=PROCESS,
    buckets=_REQUEST_BUCKETS,
)
REQUESTS_IN_PROGRESS = Gauge(
    "reinforge_http_requests_in_progress",
    "Requests that have no complete response yet; long polls and event streams included.",
    registry=PROCESS,
)
LOOP_DELAY = Histogram(
    "reinforge_event_loop_delay_seconds",
    "How late the event loop woke a timer.",
    registry=PROCESS,
    buckets=_DELAY_BUCKETS,
)
RPC_SECONDS = Histogram(
    "reinforge_rpc_duration_seconds",
    "RPCs to workers, from the request to the answer, by kind and outcome (answered, refused, no_answer).",
    ("kind", "outcome"),
    registry=PROCESS,
    buckets=_RPC_BUCKETS,
)
RPC_WAIT_SECONDS = Histogram(
    "reinforge_rpc_wait_seconds",
    "Time that an RPC waited for a worker.",
    ("kind",),
    registry=PROCESS,
    buckets=_RPC_BUCKETS,
)
WORKER_STEPS = Counter(
    "reinforge_worker_steps", "Completed training steps of a worker's jobs.", ("worker",), registry=PROCESS
)
WORKER_STEP_SECONDS = Counter(
    "reinforge_worker_step_seconds",
    "Time of completed steps: generating and scoring overlap, `step` is the whole.",
    ("worker", "phase"),
    registry=PROCESS,
)
WORKER_TOKENS = Counter(
    "reinforge_worker_tokens", "Tokens sampled in completed steps.", ("worker",), registry=PROCESS
)
PHASES = {"step": "time/step", "generate": "time/generate", "score": "time/score", "update": "time/update"}
_MOST_WORKERS = 1000
_workers: dict[str, None] = {}


@contextmanager
def timed_rpc(kind: str) -> Iterator[None]:
    began, outcome = time.monotonic(), "no_answer"
    try:
        yield
        outcome = "answered"
    except Unavailable:
        raise
    except ReinforgeError:
        outcome = "refused"
        raise
    finally:
        RPC_SECONDS.labels(kind, outcome).observe(time.monotonic() - began)


def count_steps(worker: str, steps: Sequence[StepMetrics]) -> None:
    if not steps:
        return
    _remember(worker)
    WORKER_STEPS.labels(worker).inc(len(steps))
    for record in steps:
        for phase, key in PHASES.items():
            WORKER_STEP_SECONDS.labels(worker, phase).inc(max(0.0, record.values.get(key) or 0.0))
        rate, seconds = record.values.get("throughput/tokens_per_second"), record.values.get("time/step")
        WORKER_TOKENS.labels(worker).inc(max(0.0, (rate or 0.0) * (seconds or 0.0)))


def _remember(worker: str) -> None:
    """Keep only the labels of the workers that reported most recently: restarted containers get new ids."""
    _workers.pop(worker, None)
    _workers[worker] = None
    while len(_workers) > _MOST_WORKERS:
        oldest = next(iter(_workers))
        del _workers[oldest]
        WORKER_STEPS.remove(oldest)
        WORKER_TOKENS.remove(oldest)
        for phase in PHASES:
            WORKER_STEP_SECONDS.remove(oldest, phase)
