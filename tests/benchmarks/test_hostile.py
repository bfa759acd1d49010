"""What the report of `hostile.py` counts as the server's time, and what it says of the rest."""

from attack.report import report_of

PHASES = {"quiet": (0.0, 10.0), "attack": (10.0, 20.0)}


def probe(began: float, seconds: float, waited: float) -> dict[str, object]:
    return {
        "began": began,
        "seconds": seconds,
        "failure": None,
        "probe_waited": waited,
        "loop_waited": seconds / 2,
        "loop_ran": seconds / 4,
    }


def test_the_probes_own_wait_for_a_processor_is_not_the_servers() -> None:
    probes = [probe(1.0, 0.010, 0.004), probe(11.0, 0.200, 0.180)]
    attackers = {"answers": {}, "sent_bytes": 0}
    watcher = {"asked": [], "events": 1, "missing": 0}
    outs = {
        "watcher": watcher,
        "prober": {"requests": probes},
        "strangers": attackers,
        "member": attackers,
    }
    report = report_of(outs, PHASES)
    healthz = report["latency"]["healthz"]
    assert (healthz["quiet"]["p99_ms"], healthz["attack"]["p99_ms"]) == (6.0, 20.0)
    assert report["probe"]["attack"] == {
        "total_ms": 200.0,
        "probe_waited_for_cpu_ms": 180.0,
        "loop_waited_for_cpu_ms": 100.0,
        "loop_ran_ms": 50.0,
    }
