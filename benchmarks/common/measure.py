"""What every benchmark does the same way: alternate, take medians, print a table, write JSON."""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def parser(description: str) -> argparse.ArgumentParser:
    """A command line with the option that all benchmarks share."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help="fewer repetitions: seconds, not minutes")
    return made


def machine(*packages: str) -> dict[str, Any]:
    """What the figures depend on: hardware, versions, and how busy the machine was before we started."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "load_before": round(os.getloadavg()[0], 1),
    }


def stamp(*packages: str) -> dict[str, Any]:
    """What a result that is kept says of its origin: commit, day and machine. The environment variable COMMIT names the
    commit of a copy without its repository."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "commit": os.environ.get("COMMIT") or done.stdout.strip() or "unknown",
        "date": datetime.date.today().isoformat(),
        "machine": machine(*packages),
    }


def visible_devices(device: str) -> str:
    """What CUDA_VISIBLE_DEVICES is for both sides on `device`: no GPU, or the first alone, because TRL would spread
    batches over all that it sees."""
    return "" if device == "cpu" else os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]


def alternate(rounds: int, first: Callable[[], T], second: Callable[[], T]) -> list[tuple[T, T]]:
    """`rounds` pairs of runs, taking turns at going first, so that a machine that slows down slows both."""
    pairs = []
    for number in range(rounds):
        if number % 2 == 0:
            one, two = first(), second()
        else:
            two, one = second(), first()
        pairs.append((one, two))
    return pairs


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns, the first to the left and the others to the right."""
    cells = [list(head), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        print(
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
            )
        )
        if number == 0:
            print("  ".join("─" * width for width in widths))


def write(name: str, result: dict[str, Any], *, depth: int | None = None) -> None:
    """Write `benchmarks/results/<name>.json`; from `depth` levels down whole values stand on one line."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    text = json.dumps(result, indent=2) if depth is None else _to_depth(result, depth, "")
    path.write_text(f"{text}\n", encoding="utf-8")
    print(f"\n→ {path.relative_to(ROOT)}")


def _to_depth(value: Any, depth: int, indent: str) -> str:
    if not depth or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent}  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_to_depth(item, depth - 1, inner)}" for key, item in value.items()]
    else:
        parts = [_to_depth(item, depth - 1, inner) for item in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    return f"{ends[0]}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{ends[1]}"


def _text(cell: object) -> str:
    return (
        f"{cell:.3g}"
        if isinstance(cell, float) and cell < 100
        else f"{cell:.0f}"
        if isinstance(cell, float)
        else str(cell)
    )


def _cpu() -> str:
    """The processor's name where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
