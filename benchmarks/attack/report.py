"""What a trial's processes report, as figures and verdicts."""

from typing import Any

RATIO, WITHIN_SECONDS = 3.0, 0.5
FLAT_MIB, FLAT_SHARE = 160.0, 0.25
"""By how much a process with its children may grow over the attack: three processes that read datasets
are kept for a while, and allocators keep some of what they were given."""
PAGE = ("job", "metrics", "completions", "jobs")


def report_of(outs: dict[str, Any], phases: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """outs: of watcher, prober, strangers and member. phases: name → begin and end.

    A probe's own wait for a processor is not part of the answer's time: the server has answered, and a machine that
    only runs the platform has no such wait. `probe` has it, and all other parts of the time.
    """
    probes = outs["prober"]["requests"]
    requests = outs["watcher"]["asked"] + [
        ("healthz", probe["began"], max(0.0, probe["seconds"] - probe["probe_waited"]), probe["failure"])
        for probe in probes
    ]
    kinds = sorted({kind for kind, *_ in requests} - {"stream"})
    groups = {"healthz": ("healthz",), "page": PAGE} | {kind: (kind,) for kind in kinds if kind != "healthz"}
    latency = {}
    for name, members in groups.items():
        figures = {
            phase: _figures(
                [seconds for kind, at, seconds, _ in requests if kind in members and begin <= at < end]
            )
            for phase, (begin, end) in phases.items()
        }
        quiet, attack = figures["quiet"], figures["attack"]
        figures["p99_ratio"] = round(attack["p99_ms"] / quiet["p99_ms"], 2) if quiet["p99_ms"] else 0.0
        latency[name] = figures
    failures = [
        {"kind": kind, "phase": _phase(at, phases), "failure": failure}
        for kind, at, _, failure in requests
        if failure is not None
    ]
    return {
        "latency": latency,
        "probe": {
            phase: _parts([probe for probe in probes if begin <= probe["began"] < end])
            for phase, (begin, end) in phases.items()
        },
        "failures_of_others": failures,
        "events": {name: outs["watcher"][name] for name in ("events", "missing")},
        "answers": {name: outs[name]["answers"] for name in ("strangers", "member")},
        "sent_mib": {name: round(outs[name]["sent_bytes"] / 2**20, 1) for name in ("strangers", "member")},
    }


def verdicts(report: dict[str, Any]) -> dict[str, bool]:
    """Promise → whether it held."""
    latency, memory = report["latency"], report["memory_mib"]
    held = {}
    for name in ("healthz", "page"):
        figures = latency[name]
        held[f"{name}: p99 at most {RATIO:g} times the quiet one"] = figures["p99_ratio"] <= RATIO
        held[f"{name}: p99 within {WITHIN_SECONDS * 1000:g} ms"] = (
            figures["attack"]["p99_ms"] <= WITHIN_SECONDS * 1000
        )
    return held | {
        "no request of others failed": not report["failures_of_others"],
        "no event of a live stream is missing": report["events"]["missing"] == 0 < report["events"]["events"],
        "no hostile request was answered with 500": not _with_status(report, "500"),
        "memory flat after": all(
            memory["after"][name] <= mib + max(FLAT_MIB, FLAT_SHARE * mib)
            for name, mib in memory["before"].items()
        ),
        "the job trained in both phases": min(report["job"]["steps"].values()) > 0,
        "the job succeeded": report["job"]["state"] == "succeeded",
    }


def _with_status(report: dict[str, Any], status: str) -> list[str]:
    return [kind for answers in report["answers"].values() for kind in answers if kind.endswith(f" {status}")]


def _figures(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    if not ordered:
        return {"requests": 0, "p50_ms": 0.0, "p99_ms": 0.0, "max_ms": 0.0}
    at = {"p50_ms": 0.5, "p99_ms": 0.99, "max_ms": 1.0}
    places = {name: ordered[min(len(ordered) - 1, int(part * len(ordered)))] for name, part in at.items()}
    return {"requests": len(ordered)} | {name: round(seconds * 1000, 1) for name, seconds in places.items()}


def _parts(probes: list[dict[str, Any]]) -> dict[str, float]:
    """Of the slowest hundredth, at least of five: mean milliseconds, and where they went."""
    slowest = sorted(probes, key=lambda probe: -probe["seconds"])[: max(5, len(probes) // 100)]
    if not slowest:
        return {}
    parts = {
        "total_ms": [probe["seconds"] for probe in slowest],
        "probe_waited_for_cpu_ms": [probe["probe_waited"] for probe in slowest],
        "loop_waited_for_cpu_ms": [probe["loop_waited"] for probe in slowest],
        "loop_ran_ms": [probe["loop_ran"] for probe in slowest],
    }
    return {name: round(1000 * sum(part) / len(part), 1) for name, part in parts.items()}


def _phase(at: float, phases: dict[str, tuple[float, float]]) -> str:
    return next((name for name, (begin, end) in phases.items() if begin <= at < end), "before")
