"""What others notice while strangers and a hostile member do their worst, on one machine.

The whole platform runs as `reinforge up` starts it, on loopback. A job trains on the starter model, four pages watch
it, somebody checks rewards and a probe asks for `/healthz`: first alone (quiet), then while 200 clients without an
account and one editor of another project attack (`attack/strangers.py`, `attack/member.py`). Promised: the 99th
percentile of `/healthz` and of the page's requests is at most three times the quiet one of the same run and at most
500 ms, no request of others fails, memory is what it was afterwards, and the job succeeds.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from attack.report import verdicts
from attack.trial import Load, Trial
from common.measure import parser, stamp, table, write

from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import Platform

OTHERS_SHARE = 0.2
"""Of the machine's CPU time that the database, watchers and programs of others may use."""
KEY = "rf-hostile-owner-key-0123456789abcdef"


def measure(load: Load) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="rf-hostile-home-") as folder:
        home = Path(folder) / "home"
        try:
            with Platform(
                home, port=0, bootstrap_api_key=KEY, say=lambda sentence: print(sentence, flush=True)
            ) as platform:
                return Trial(platform, KEY, load).run()
        finally:
            EmbeddedPostgres(home).destroy()


def show(report: dict[str, Any]) -> None:
    columns = [(phase, part) for phase in ("quiet", "attack") for part in ("p50", "p99", "max")]
    rows = [
        (name, *(f"{figures[phase][f'{part}_ms']:.0f}" for phase, part in columns), figures["p99_ratio"])
        for name, figures in report["latency"].items()
    ]
    head = ("ms", *(f"{phase} {part}" for phase, part in columns), "p99 ratio")
    table(head, rows)
    print()
    memory = report["memory_mib"]
    table(
        ("MiB", *memory),
        [(name, *(f"{phase[name]:.0f}" for phase in memory.values())) for name in memory["before"]],
    )
    print()
    answers = [
        (who, status, count) for who, counts in report["answers"].items() for status, count in counts.items()
    ]
    table(("hostile", "kind and answer", "count"), answers)
    print()
    for name in ("job", "probe", "cpu_seconds", "api_waited_for_cpu_seconds", "load_average_in_attack"):
        print(f"{name}: {report[name]}")
    others, seconds = report["cpu_seconds"]["attack"]["others"], report["load"]["attack"]
    if others > OTHERS_SHARE * seconds * (os.cpu_count() or 1):
        print(f"Other programs used {others:.0f} s of CPU time in {seconds:g} s: measure on an idle machine.")
    for failure in report["failures_of_others"][:5]:
        print(failure)


def main() -> None:
    options = parser(__doc__).parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    about = stamp("reinforge", "fastapi", "uvicorn", "psycopg", "sqlalchemy", "torch")
    report = measure(Load(quiet=10, attack=15, settle=5) if options.quick else Load())
    held = verdicts(report)
    show(report)
    print()
    for promise, holds in held.items():
        print(f"{'holds' if holds else 'DOES NOT HOLD'}  {promise}")
    if not options.quick:
        write("hostile", about | {"held": held} | report, depth=4)
    sys.exit(0 if all(held.values()) else 1)


if __name__ == "__main__":
    main()
