"""All that is to be shown on a GPU, by one command: whether the GPU path is right, and how fast it is.

    make gpu-check                                          # on the first GPU of this machine
    benchmarks/gpu_check.py [--only SECTION…] [--out JSON]
    benchmarks/gpu_check.py --device cpu --tiny             # the same script in a minute, without a GPU
    benchmarks/gpu_check.py --model FOLDER --data gsm8k     # trains a published model too

Each section is a process of its own with a limit in seconds; its rows are kept as they come, so that a section that
hangs or crashes leaves those before. A row has passed, failed, or is waiting for something that this machine has not.
Models have the sizes of published ones and random weights, drawn on the device; nothing is downloaded. Exit status: 1
where a row has failed.
"""

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.gpu.rows import Row, Setting
from common.measure import stamp, table

SECTIONS = {
    "machine": 60,
    "right": 90,
    "update": 150,
    "sampling": 60,
    "vllm": 200,
    "job": 150,
    "short": 60,
}
"""Limits in seconds. All of them together end within 8 minutes on an H200."""
TOTAL_SECONDS = 480
MEMORY_FOLDER = Path("/dev/shm")


def main() -> None:
    given = _arguments()
    if given.section is not None:
        _run_section(given)
        return
    result: dict[str, Any] = {"device": given.device, "tiny": given.tiny, "sections": {}}
    result |= stamp("torch", "transformers", "peft")
    began = time.monotonic()
    for name in given.only or SECTIONS:
        left = TOTAL_SECONDS - (time.monotonic() - began)
        result["sections"][name] = _section(name, min(SECTIONS[name], left), given)
        result["seconds"] = round(time.monotonic() - began, 1)
        if given.out is not None:
            given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _show(result)
    if given.out is not None:
        print(f"\n→ {given.out}")
    sys.exit(any(row["status"] == "failed" for row in _rows(result)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes that a CPU finishes in a minute")
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS), metavar="SECTION")
    parser.add_argument("--out", type=Path, metavar="JSON", help="written after every section")
    parser.add_argument("--model", type=Path, help="folder of a published model, for the section job")
    parser.add_argument("--data", help="its prompts: gsm8k (downloaded) or a JSONL file with `answer`")
    parser.add_argument("--section", choices=tuple(SECTIONS), help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _section(name: str, limit: float, given: argparse.Namespace) -> dict[str, Any]:
    """Run a section in a process of its own. What it prints is shown only when it ends with an error."""
    began = time.monotonic()
    if limit < 5:
        row = Row(name, "failed", note=f"no time is left of {TOTAL_SECONDS} s")
        return {"seconds": 0.0, "rows": [dataclasses.asdict(row)]}
    print(f"{name} …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="gpu-check-", dir=_scratch()) as folder:
        rows, log = Path(folder) / "rows.jsonl", Path(folder) / "log"
        command = [sys.executable, __file__, *sys.argv[1:], "--section", name, "--rows", str(rows)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                status: int | str = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = f"stopped after {limit:.0f} s"
            _end(process)
        found = [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []
        seconds = round(time.monotonic() - began, 1)
        if status != 0:
            text = log.read_text(encoding="utf-8", errors="replace")
            print(f"{text[-3000:]}\n{name}: {status}", file=sys.stderr)
            last = text.strip().splitlines()[-1:] or [""]
            found.append(
                dataclasses.asdict(
                    Row(name, "failed", note=f"the section ended early: {status}: {last[0][:300]}")
                )
            )
        return {"seconds": seconds, "rows": found}


def _end(process: "subprocess.Popen[bytes]") -> None:
    """The section and whatever it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _scratch() -> Path | None:
    """Where models are written for other processes: in memory where there is room."""
    if (
        MEMORY_FOLDER.is_dir()
        and os.statvfs(MEMORY_FOLDER).f_bavail * os.statvfs(MEMORY_FOLDER).f_frsize > 8 * 2**30
    ):
        return MEMORY_FOLDER
    return None


def _run_section(given: argparse.Namespace) -> None:
    """In the section's own process: write each row as it comes."""
    module = importlib.import_module(f"common.gpu.{given.section}")
    setting = Setting(given.device, given.tiny, given.rows.parent, given.model, given.data)
    with given.rows.open("w", encoding="utf-8") as out:
        for row in module.run(setting):
            out.write(json.dumps(dataclasses.asdict(row)) + "\n")
            out.flush()


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for section in result["sections"].values() for row in section["rows"]]


def _show(result: dict[str, Any]) -> None:
    lines: list[Sequence[object]] = []
    for name, section in result["sections"].items():
        lines.append((f"{name}, {section['seconds']} s", "", "", ""))
        for row in section["rows"]:
            value = "not measured" if row["status"] == "waiting" else _number(row["value"], row["unit"])
            lines.append((f"  {row['name']}", value or row["note"][:60], row["limit"], row["status"]))
    table(("row", "value", "limit", "status"), lines)
    rows = _rows(result)
    counts = {
        status: sum(row["status"] == status for row in rows) for status in ("passed", "failed", "waiting")
    }
    print(
        "\n" + ", ".join(f"{count} {status}" for status, count in counts.items()) + f"; {result['seconds']} s"
    )
    for row in rows:
        if row["status"] != "passed":
            print(f"  {row['status']}: {row['name']}: {row['note'] or _number(row['value'], row['unit'])}")


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{text} {unit}".strip()


if __name__ == "__main__":
    main()
