"""Command `reinforge top`."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from reinforge.cli.connection import connect
from reinforge.cli.output import Json, duration, number, out, print_json
from reinforge.client import Reinforge
from reinforge.client.protocol import ServerUnreachable
from reinforge.schemas.jobs import Job
from reinforge.schemas.resources import WorkerInfo

_RUNNING = ("starting", "running", "pausing", "cancelling")
_FIGURES = {
    "reward": "reward/mean",
    "tokens_per_second": "throughput/tokens_per_second",
    "step_seconds": "time/step",
    "peak_memory_gib": "memory/peak",
}
_MOST_JOBS = 50
Snapshot = dict[str, Any]


def top(
    once: Annotated[bool, typer.Option("--once", help="Print the state once and stop.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between updates.", min=0.5)] = 2.0,
    json: Json = False,
) -> None:
    """Show workers, running jobs and the queue until Ctrl-C. If stdout is not a terminal, print them once."""
    with connect() as client:
        if json:
            print_json(snapshot(client))
        elif once or not out.is_terminal:
            out.print(rendered(snapshot(client)))
        else:
            _live(client, every, out)


def snapshot(client: Reinforge) -> Snapshot:
    """Workers that are online or busy, and up to 50 running and 50 queued jobs."""
    workers = client.workers.list()
    running = _first(client, _RUNNING)
    holders = {worker.job: worker for worker in workers if worker.job}
    return {
        "server": client.base_url,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "workers": [_worker(worker) for worker in workers if worker.online or worker.busy],
        "running": [_running(client, job, holders.get(job.id)) for job in running],
        "queued": sorted(map(_queued, _first(client, ("queued",))), key=lambda job: job["position"] or 0),
    }


def _first(client: Reinforge, statuses: tuple[str, ...]) -> list[Job]:
    jobs = []
    for job in client.jobs.list(status=statuses):
        jobs.append(job)
        if len(jobs) == _MOST_JOBS:
            break
    return jobs


def _worker(worker: WorkerInfo) -> Snapshot:
    return {
        "id": worker.id,
        "kind": worker.kind,
        "hostname": worker.hostname,
        "device": worker.device,
        "online": worker.online,
        "busy": worker.busy,
        "job": worker.job,
        "heartbeat_age_seconds": round((datetime.now(UTC) - worker.last_seen_at).total_seconds(), 1),
        "notice": worker.notice,
    }


def _running(client: Reinforge, job: Job, worker: WorkerInfo | None) -> Snapshot:
    step = job.progress.step
    figures: dict[str, float | None] = dict.fromkeys(_FIGURES)
    if step > 0:
        metrics = client.jobs.metrics(job.id, keys=list(_FIGURES.values()), from_step=step)
        newest = {series.key: series.values[-1] for series in metrics.series if series.values}
        figures = {name: newest.get(key) for name, key in _FIGURES.items()}
    return {
        "id": job.id,
        "name": job.name,
        "status": str(job.status),
        "step": step,
        "steps": job.progress.steps,
        "phase": job.progress.phase,
        "eta_seconds": job.progress.eta_seconds,
        "attempt": job.attempt,
        "held_out_reward": job.held_out_reward,
        **figures,
        "worker": worker.id if worker else None,
    }


def _queued(job: Job) -> Snapshot:
    place = job.queue
    return {
        "id": job.id,
        "name": job.name,
        "position": place.position if place else None,
        "of": place.of if place else None,
        "reason": place.reason if place else None,
        "notice": place.notice if place else None,
        "waiting_seconds": round((datetime.now(UTC) - job.created_at).total_seconds(), 1),
    }


def rendered(state: Snapshot) -> RenderableType:
    online = sum(worker["online"] for worker in state["workers"])
    head = Text.assemble(
        ("reinforge top", "bold"),
        f"  {state['server']}  workers {online}  running {len(state['running'])}  queued {len(state['queued'])}",
    )
    parts: list[RenderableType] = [head, Text("")]
    parts += _section(
        "No worker is online. Start one with `python -m worker`.",
        ["worker", "kind", "state", "host", "device", "heartbeat"],
        [_worker_cells(worker) for worker in state["workers"]],
    )
    parts += _section(
        "No job is running.",
        ["job", "name", "status", "step", "phase", "reward", "held-out", "tokens/s", "memory", "left"],
        [_running_cells(job) for job in state["running"]],
    )
    parts += _section(
        "No job is queued.",
        ["place", "queued", "name", "waits for", "since"],
        [_queued_cells(job) for job in state["queued"]],
    )
    notices = {entry["notice"] for entry in (*state["workers"], *state["queued"]) if entry["notice"]}
    return Group(*parts, *(Text(f"! {notice}", style="yellow") for notice in sorted(notices)))


def _section(empty: str, columns: list[str], rows: list[list[str]]) -> list[RenderableType]:
    if not rows:
        return [Text(empty, style="dim"), Text("")]
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(escape, row))
    return [table, Text("")]


def _worker_cells(worker: Snapshot) -> list[str]:
    state = "idle" if worker["online"] else "offline"
    if worker["busy"]:
        state = worker["job"] or "a job of another project"
    age = f"{worker['heartbeat_age_seconds']:.0f} s"
    return [worker["id"], worker["kind"], state, worker["hostname"], worker["device"] or "–", age]


def _running_cells(job: Snapshot) -> list[str]:
    memory = job["peak_memory_gib"]
    return [
        job["id"],
        job["name"],
        job["status"],
        f"{job['step']}/{job['steps']}",
        job["phase"] or "–",
        number(job["reward"]),
        number(job["held_out_reward"]),
        number(job["tokens_per_second"], 0),
        "–" if memory is None else f"{memory:.1f} GiB",
        duration(job["eta_seconds"]),
    ]


def _queued_cells(job: Snapshot) -> list[str]:
    place = "–" if job["position"] is None else f"{job['position']}/{job['of']}"
    reason = (job["reason"] or "").replace("_", " ")
    return [place, job["id"], job["name"], reason, duration(job["waiting_seconds"])]


def _live(client: Reinforge, every: float, console: Console) -> None:
    view: RenderableType = Text("…")
    with Live(view, console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                view = rendered(snapshot(client))
                live.update(view, refresh=True)
            except ServerUnreachable as error:
                live.update(Group(view, Text(f"! {error.message}", style="red")), refresh=True)
            time.sleep(every)
