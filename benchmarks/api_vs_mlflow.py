"""Metric points over HTTP: the worker API of Reinforge beside MLflow's and Trackio's servers, 1 and 4 clients.

All three are real servers on loopback, as they are started by default: Reinforge's one API process and MLflow's workers
with the same durable PostgreSQL 18 (a database each), Trackio's one process with SQLite. Every request brings 1,000
points of one key, each of another step, by the way for many points that each side documents: `log-batch` of MLflow
(1,000 is its limit), `bulk_log` of Trackio (what its client sends), a batch of `step_metrics`
records of the worker API (what a worker sends after an outage). Every client has a run (or job) of its own. Requests
are made before the clock starts and sent by the same bare client on one connection each; the sides take turns.

Not the same: Reinforge also checks the attempt's token, numbers an event per step for who watches the job, and keeps
the job's progress; MLflow also keeps the newest value of a key; MLflow and Trackio are asked without users or roles.
Afterwards every side has to hold all its points.

Wanted: at least 8 × MLflow's points per second, and 2 × Trackio's.
"""

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from common.backend import Backend, ClaimedJob
from common.cpu import Account
from common.measure import machine, median, parser, table, write
from common.trackers import PACKAGES, TRACKIO_TOKEN, mlflow, new_mlflow_run, trackio

POINTS = 1000
KEY = "reward/mean"
CLIENTS = (1, 4)
TARGETS = {"mlflow": 8.0, "trackio": 2.0}


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Side:
    name: str
    url: str
    begin: Callable[[int], list[list[Request]]]
    """Batches per client → what each client of a fresh run of the side sends; one list per client."""
    stored: Callable[[], int]
    """Points that it has."""
    account: Callable[[], Account]


@dataclass(frozen=True)
class Run:
    """One go of one side."""

    seconds: float
    batches: list[float]
    """Seconds of each request."""
    cpu: dict[str, float]
    """Seconds of each of its processes, children included."""

    def rate(self) -> float:
        """Points per second."""
        return POINTS * len(self.batches) / self.seconds


def send(url: str, requests: Sequence[Sequence[Request]]) -> tuple[float, list[float]]:
    """Every client in a thread with one connection; seconds from first to last, and of each request."""
    times: list[float] = []
    failures: list[str] = []
    ready = threading.Barrier(len(requests) + 1)

    def client(own_requests: Sequence[Request]) -> None:
        connection = http.client.HTTPConnection(str(urlsplit(url).netloc), timeout=120)
        connection.connect()
        ready.wait()
        for request in own_requests:
            started = time.perf_counter()
            connection.request("POST", request.path, request.body, request.headers)
            reply = connection.getresponse()
            content = reply.read()
            times.append(time.perf_counter() - started)
            if reply.status != 200:
                failures.append(f"{request.path}: {reply.status} {content[:500]!r}")
                return
        connection.close()

    threads = [threading.Thread(target=client, args=(own_requests,)) for own_requests in requests]
    for thread in threads:
        thread.start()
    ready.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(failures[0])
    return time.perf_counter() - started, times


def go(side: Side, clients: int, batches: int) -> Run:
    requests = side.begin(batches)[:clients]
    account = side.account()
    seconds, times = send(side.url, requests)
    return Run(seconds, times, account.seconds())


def value(number: int) -> float:
    return 0.5 + (number * 7919 % 1000) / 2500


def steps(batch: int) -> range:
    """The steps of a client's batch, counted from 1."""
    return range(batch * POINTS + 1, (batch + 1) * POINTS + 1)


def reinforge(backend: Backend) -> Side:
    dataset = backend.add_dataset()

    def batch(job: ClaimedJob, number: int) -> Request:
        step_numbers = steps(number)
        first, now = job.sequence + 1, time.time()
        records = [
            {
                "kind": "step_metrics",
                "sequence": first + n,
                "ts": now,
                "step": step,
                "values": {KEY: value(step)},
            }
            for n, step in enumerate(step_numbers)
        ]
        job.sequence += len(step_numbers)
        body = json.dumps({"attempt": job.attempt, "records": records}).encode()
        headers = {"authorization": f"Bearer {job.token}", "content-type": "application/json"}
        return Request(f"/worker/v1/jobs/{job.id}/records", headers, body)

    def begin(batches: int) -> list[list[Request]]:
        jobs = [backend.start_job(dataset) for _ in range(max(CLIENTS))]
        return [[batch(job, number) for number in range(batches)] for job in jobs]

    def stored() -> int:
        return _count(backend, "SELECT count(*) FROM metric_point")

    return Side("reinforge", backend.url, begin, stored, backend.account)


def of_mlflow(backend: Backend, url: str, pid: int, database: str) -> Side:
    headers = {"content-type": "application/json"}

    def batch(run: str, number: int) -> Request:
        moment = int(time.time() * 1000)
        points = [
            {"key": KEY, "value": value(step), "timestamp": moment, "step": step} for step in steps(number)
        ]
        body = json.dumps({"run_id": run, "metrics": points}).encode()
        return Request("/api/2.0/mlflow/runs/log-batch", headers, body)

    def begin(batches: int) -> list[list[Request]]:
        runs = [new_mlflow_run(url) for _ in range(max(CLIENTS))]
        return [[batch(run, number) for number in range(batches)] for run in runs]

    def stored() -> int:
        return _count(backend, "SELECT count(*) FROM metrics", database)

    def account() -> Account:
        return Account({"mlflow": pid, "postgres": backend.pids["postgres"]})

    return Side("mlflow", url, begin, stored, account)


def of_trackio(url: str, pid: int) -> Side:
    headers = {"content-type": "application/json", "x-trackio-write-token": TRACKIO_TOKEN}
    runs: list[str] = []

    def batch(run: str, number: int) -> Request:
        entries = [
            {
                "project": "bench",
                "run": run,
                "metrics": {KEY: value(step)},
                "step": step,
                "log_id": f"{run}-{step}",
            }
            for step in steps(number)
        ]
        body = json.dumps({"logs": entries, "hf_token": None}).encode()
        return Request("/api/bulk_log", headers, body)

    def begin(batches: int) -> list[list[Request]]:
        names = [f"run-{len(runs) + number}" for number in range(max(CLIENTS))]
        runs.extend(names)
        return [[batch(run, number) for number in range(batches)] for run in names]

    def stored() -> int:
        return sum(_trackio_points(url, run) for run in runs)

    return Side("trackio", url, begin, stored, lambda: Account({"trackio": pid}))


def _trackio_points(url: str, run: str) -> int:
    connection = http.client.HTTPConnection(str(urlsplit(url).netloc), timeout=120)
    body = json.dumps({"project": "bench", "run": run, "max_points": None})
    connection.request("POST", "/api/get_run_summary", body, {"content-type": "application/json"})
    return int(json.load(connection.getresponse())["data"]["num_logs"] or 0)


def _count(backend: Backend, query: str, database: str | None = None) -> int:
    import psycopg

    url = backend.database_url if database is None else database
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def measure(sides: Sequence[Side], rounds: int, batches: int) -> dict[str, dict[str, list[Run]]]:
    """Clients → side → runs; the sides take turns at going first."""
    results: dict[str, dict[str, list[Run]]] = {}
    sent = dict.fromkeys((side.name for side in sides), 0)
    for side in sides:  # connections, caches and compiled statements
        go(side, 1, 2)
        sent[side.name] += 2
    for clients in CLIENTS:
        runs: dict[str, list[Run]] = {side.name: [] for side in sides}
        for number in range(rounds):
            turn = number % len(sides)
            for side in (*sides[turn:], *sides[:turn]):
                runs[side.name].append(go(side, clients, batches))
                sent[side.name] += clients * batches
        results[str(clients)] = runs
    for side in sides:
        if (has := side.stored()) != sent[side.name] * POINTS:
            raise SystemExit(f"{side.name} has {has} of {sent[side.name] * POINTS} points")
    return results


def show(results: dict[str, dict[str, list[Run]]]) -> dict[str, dict[str, float]]:
    """Prints the table; the median ratio to each peer by number of clients."""
    rows: list[tuple[object, ...]] = []
    ratios: dict[str, dict[str, float]] = {}
    for clients, runs in results.items():
        ours = [run.rate() for run in runs["reinforge"]]
        ratios[clients] = {
            name: median([rate / run.rate() for rate, run in zip(ours, runs[name], strict=True)])
            for name in TARGETS
        }
        for name, side_runs in runs.items():
            batches = sorted(seconds for run in side_runs for seconds in run.batches)
            cpu = median([sum(run.cpu.values()) / len(run.batches) for run in side_runs])
            ratio = ratios[clients].get(name)
            rows.append(
                (
                    f"{clients} client(s): {name}",
                    round(median([run.rate() for run in side_runs])),
                    median(batches) * 1e3,
                    batches[int(0.99 * (len(batches) - 1))] * 1e3,
                    cpu * 1e3,
                    "" if ratio is None else f"{ratio:.1f} ×",
                    ""
                    if ratio is None
                    else f"≥ {TARGETS[name]:g}: {'met' if ratio >= TARGETS[name] else 'missed'}",
                )
            )
    table(("", "points/s", "batch p50 ms", "p99 ms", "CPU ms/batch", "reinforge is", "wanted"), rows)
    return ratios


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, help="runs of each side and number of clients")
    options.add_argument("--batches", type=int, help="requests of each client in a run")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    return options.parse_args()


def main() -> None:
    options = _options()
    rounds, batches = (
        options.rounds or (1 if options.quick else 5),
        options.batches or (4 if options.quick else 10),
    )
    about = machine("reinforge", "fastapi", "uvicorn", "psycopg", "sqlalchemy")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rf-peers-")))
        backend = stack.enter_context(Backend())
        with backend.connect() as connection:
            connection.execute("CREATE DATABASE mlflow")
        database = backend.database_url_of("mlflow")
        sides = (
            reinforge(backend),
            of_mlflow(backend, *stack.enter_context(mlflow(folder, database)), database),
            of_trackio(*stack.enter_context(trackio(folder))),
        )
        results = measure(sides, rounds, batches)
    ratios = show(results)
    raw = {
        clients: {name: [vars(run) for run in side_runs] for name, side_runs in runs.items()}
        for clients, runs in results.items()
    }
    settings = {"rounds": rounds, "batches": batches, "points_per_batch": POINTS, "peers": PACKAGES}
    result = {"machine": about, "settings": settings, "ratios": ratios, "runs": raw}
    write("api_vs_mlflow", result, depth=5)
    if options.json is not None:
        options.json.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
