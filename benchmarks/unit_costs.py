"""What the backend spends on one worker, one queued job and one claim: CPU milliseconds of API and PostgreSQL.

    benchmarks/unit_costs.py [--quick]

A worker registers every 10 s and, while it has no job, asks for one every 5 s; with a job it sends a heartbeat. Each
request is repeated sequentially over one connection, with an empty queue and with 1,000 queued jobs; CPU time is that
of the API's and PostgreSQL's processes, their idle work over the same time subtracted. It takes two minutes. Results go
to `results/unit_costs.json`; docs/scale.md reads them.
"""

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import httpx
import psycopg
from common.backend import MODEL, REWARD, Backend
from common.measure import parser, stamp, table, write

REQUESTS, QUEUED, IDLE_SECONDS = 400, 1000, 10.0
REGISTERS_PER_SECOND, CLAIMS_PER_SECOND = 1 / 10, 1 / 5


def idle_cpu(backend: Backend, seconds: float) -> dict[str, float]:
    """CPU seconds per second while nothing is asked."""
    account = backend.account()
    time.sleep(seconds)
    return {name: spent / seconds for name, spent in account.seconds().items()}


def cost(
    backend: Backend, idle: dict[str, float], requests: int, send: Callable[[int], float]
) -> dict[str, float]:
    """Median seconds of a request as milliseconds, and CPU milliseconds of API and PostgreSQL per request."""
    send(-1)
    account, started = backend.account(), time.monotonic()
    seconds = [send(number) for number in range(requests)]
    elapsed = time.monotonic() - started
    spent = {name: total - idle[name] * elapsed for name, total in account.seconds().items()}
    return {
        "p50_ms": 1000 * median(seconds),
        "p95_ms": 1000 * sorted(seconds)[int(0.95 * len(seconds))],
        "api_cpu_ms": 1000 * spent["api"] / requests,
        "postgres_cpu_ms": 1000 * spent["postgres"] / requests,
    }


def queue_jobs(connection: "psycopg.Connection[Any]", template: str, count: int) -> None:
    """Add queued jobs that are copies of the row of `template`."""
    row = connection.execute(
        "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE table_name = 'job'"
        " AND is_generated = 'NEVER' AND is_identity = 'NO' AND column_name NOT IN ('id', 'queued_at')"
    ).fetchone()
    assert row is not None
    columns = row[0]
    connection.execute(
        f"INSERT INTO job (id, queued_at, {columns}) SELECT 'ftjob-bench' || n, now() + n * interval '1 ms', {columns}"
        " FROM job, generate_series(1, %s) AS n WHERE id = %s",
        (count, template),
    )


def queued_job(backend: Backend, dataset: str) -> str:
    spec = {
        "model": MODEL,
        "data": {"dataset": dataset},
        "rewards": [{"type": "python", "name": "right", "source": REWARD}],
    }
    answer = backend.api.post("/jobs", json=spec)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def measure(backend: Backend, requests: int, queued: int, idle_seconds: float) -> dict[str, dict[str, float]]:
    idle = idle_cpu(backend, idle_seconds)
    worker = {"kind": "trainer", "hostname": "bench", "version": "0", "jail": "L", "device": "cpu"}

    def register(number: int) -> float:
        body = worker | {"id": f"wrk_bench{number % 50}", "process": "0123456789abcdef"}
        return timed(204, lambda: backend.worker_api.post("/workers", json=body))

    def claim(expected: int) -> Callable[[int], float]:
        body = {"worker": "wrk_bench0"}
        return lambda number: timed(expected, lambda: backend.worker_api.post("/jobs/claim", json=body))

    costs = {
        "registration": cost(backend, idle, requests, register),
        "claim_without_jobs": cost(backend, idle, requests, claim(204)),
    }
    dataset = backend.add_dataset()
    job = backend.start_job(dataset)
    token = {"authorization": f"Bearer {job.token}"}

    def heartbeat(number: int) -> float:
        path, body = f"/jobs/{job.id}/heartbeat", {"attempt": job.attempt}
        return timed(200, lambda: backend.worker_api.post(path, json=body, headers=token))

    costs["heartbeat"] = cost(backend, idle, requests, heartbeat)
    template = queued_job(backend, dataset)
    with backend.connect() as connection:
        queue_jobs(connection, template, queued)
        connection.execute("ANALYZE job")
    costs[f"job_list_with_{queued}_queued"] = cost(
        backend,
        idle,
        requests // 4,
        lambda number: timed(200, lambda: backend.api.get("/jobs", params={"limit": 20})),
    )
    costs[f"claim_of_{queued}_queued"] = cost(backend, idle, min(requests // 4, queued // 2), claim(200))
    return costs


def timed(status: int, send: Callable[[], httpx.Response]) -> float:
    started = time.perf_counter()
    reply = send()
    seconds = time.perf_counter() - started
    if reply.status_code != status:
        raise SystemExit(f"expected {status}, the server answered {reply.status_code}: {reply.text[:500]}")
    return seconds


def main() -> int:
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    origin = stamp("fastapi", "sqlalchemy")
    sizes = (20, 50, 1.0) if arguments.quick else (REQUESTS, QUEUED, IDLE_SECONDS)
    with Backend() as backend:
        costs = measure(backend, *sizes)
    table(
        ("request", "p50 ms", "p95 ms", "API, CPU ms", "PostgreSQL, CPU ms"),
        [(name, *values.values()) for name, values in costs.items()],
    )
    idle_worker = sum(
        rate * (costs[name]["api_cpu_ms"] + costs[name]["postgres_cpu_ms"])
        for name, rate in (
            ("registration", REGISTERS_PER_SECOND),
            ("claim_without_jobs", CLAIMS_PER_SECOND),
        )
    )
    print(f"an idle worker: {idle_worker:.2f} CPU ms per second")
    if not arguments.quick:
        write("unit_costs", origin | {"idle_worker_cpu_ms_per_second": idle_worker, "costs": costs}, depth=3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
