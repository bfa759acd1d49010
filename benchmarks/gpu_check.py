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
import multiprocessing
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
    "choices": 60,
    "right": 90,
    "update": 90,
    "peer": 100,
    "sampling": 60,
    "short": 60,
    "vllm": 150,
    "job": 150,
}
"""Limits in seconds, and together those of a run: what is asked for last has the time that is left."""
TOTAL_SECONDS = 480
PRELOADED = ["common.gpu.models", "transformers.models.qwen3.modeling_qwen3", "reinforge.offline.train"]
"""Modules that every section needs, imported once."""
MEMORY_FOLDER = Path("/dev/shm")


def main() -> None:
    options = _arguments()
    if options.tiny:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(PRELOADED)
    result: dict[str, Any] = {"device": options.device, "tiny": options.tiny, "sections": {}}
    result |= stamp("torch", "transformers", "peft") | {"gpu": _gpu(options.device)}
    began = time.monotonic()
    for name in options.only or SECTIONS:
        left = TOTAL_SECONDS - (time.monotonic() - began)
        print(f"{name} …", file=sys.stderr, flush=True)
        result["sections"][name] = section(f"common.gpu.{name}", min(SECTIONS[name], left), options)
        result["seconds"] = round(time.monotonic() - began, 1)
        if options.out is not None:
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _show(result)
    if options.out is not None:
        print(f"\n→ {options.out}")
    sys.exit(any(row["status"] == "failed" for row in _rows(result)))


def _gpu(device: str) -> str | None:
    """The card's name, without opening it in this process."""
    if device == "cpu":
        return None
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown: {error}"


def _arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes that a CPU finishes in a minute")
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS), metavar="SECTION")
    parser.add_argument("--out", type=Path, metavar="JSON", help="written after every section")
    parser.add_argument("--model", type=Path, help="folder of a published model, for the section job")
    parser.add_argument("--data", help="its prompts: gsm8k (downloaded) or a JSONL file with `answer`")
    return parser.parse_args(arguments)


def section(module: str, limit: float, options: argparse.Namespace) -> dict[str, Any]:
    """Run a section in a process of its own: `{"seconds", "rows"}`. What it prints is shown only when it ends early."""
    began = time.monotonic()
    if limit < 5:
        return {"seconds": 0.0, "rows": [_failed(module, f"no time is left of {TOTAL_SECONDS} s")]}
    with tempfile.TemporaryDirectory(prefix="gpu-check-", dir=_scratch()) as folder:
        setting = Setting(options.device, options.tiny, Path(folder), options.model, options.data)
        rows, log = Path(folder) / "rows.jsonl", Path(folder) / "log"
        process = multiprocessing.get_context("forkserver").Process(
            target=_run, args=(module, setting, rows, log)
        )
        process.start()
        process.join(limit)
        why = f"stopped after {limit:.0f} s" if process.exitcode is None else f"status {process.exitcode}"
        ended = process.exitcode == 0
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)  # and whatever it has started
        process.join()
        results = [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []
        if not ended:
            text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            print(f"{text[-3000:]}\n{module}: {why}", file=sys.stderr)
            last = text.strip().splitlines()[-1:] or [""]
            results.append(_failed(module, f"the section ended early: {why}: {last[0][:300]}"))
    return {"seconds": round(time.monotonic() - began, 1), "rows": results}


def _run(module: str, setting: Setting, rows: Path, log: Path) -> None:
    """In the section's own process and session: write each row as it comes."""
    os.setsid()
    with log.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    with rows.open("w", encoding="utf-8") as out:
        for row in importlib.import_module(module).run(setting):
            out.write(json.dumps(dataclasses.asdict(row)) + "\n")
            out.flush()


def _failed(name: str, note: str) -> dict[str, Any]:
    return dataclasses.asdict(Row(name.rpartition(".")[2], "failed", note=note))


def _scratch() -> Path | None:
    """Where models are written for other processes: in memory where there is room."""
    if not MEMORY_FOLDER.is_dir():
        return None
    space = os.statvfs(MEMORY_FOLDER)
    return MEMORY_FOLDER if space.f_bavail * space.f_frsize > 8 * 2**30 else None


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
