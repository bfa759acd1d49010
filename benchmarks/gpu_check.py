"""Every check and figure of a GPU, by one command: whether the GPU path is right, and how fast it is.

    make gpu-check                                          # on the first GPU of this machine
    benchmarks/gpu_check.py [--only SECTION…] [--out JSON]
    benchmarks/gpu_check.py --device cpu --tiny             # the same script in a minute, without a GPU
    benchmarks/gpu_check.py --model FOLDER --data gsm8k     # trains a published model too

Each section is a process of its own with a limit in seconds; its rows are written as they come, so that a section that
hangs or crashes leaves those before. Each row has passed, failed, or is waiting, and a waiting one is `not measured`.
Without a GPU the code of every row runs with tiny models: what it decides is checked, its figures are not measured.
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
from collections import Counter
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from common.gpu.rows import Row, Setting, waiting
from common.measure import stamp, table

SECTIONS = {
    "machine": 28,
    "choices": 20,
    "right": 72,
    "update": 58,
    "peer": 70,
    "sampling": 28,
    "short": 34,
    "vllm": 80,
    "job": 80,
}
"""Seconds of each section: what a section leaves is there for the next ones, and none takes those of a later one."""
TOTAL_SECONDS = sum(SECTIONS.values())
CPU_SECONDS = 600.0
PUBLISHED = "published"
PUBLISHED_SECONDS = 1800
"""Of the section that `--model` adds, beside the others'."""
TITLES = {
    "machine": "machine: versions, and the GPU's ceilings",
    "choices": "choices: decisions before a job trains",
    "right": "right: tiny models beside one row at a time in float64",
    "update": "update: the PyTorch trainer alone, no sampling engine",
    "peer": "peer: the update alone beside TRL's, no sampling engine",
    "sampling": "sampling: engine transformers",
    "short": "short: updates with too little memory",
    "vllm": "vllm: engine vllm beside the trainer",
    "job": "job: whole jobs, by engine",
    PUBLISHED: "published: a job with the named model",
}
LONGEST_NOTE = 40
"""Characters of a note in the table; the JSON has all."""
PRELOADED = ["common.gpu.models", "transformers.models.qwen3.modeling_qwen3", "reinforge.offline.train"]
"""Modules that every section needs, imported once."""
MEMORY_FOLDER = Path("/dev/shm")
NOT_MEASURED = "not measured"


def main() -> None:
    options = _arguments()
    if options.tiny:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(PRELOADED)
    result: dict[str, Any] = {"device": options.device, "tiny": options.tiny, "sections": {}}
    result |= stamp("torch", "transformers", "peft") | {"gpu": _gpu(options.device)}
    began = time.monotonic()
    deadline = began
    sections = limits(options.only, on_gpu=options.device == "cuda", published=options.model is not None)
    for name, seconds in sections.items():
        deadline += seconds
        print(f"{name} …", file=sys.stderr, flush=True)
        result["sections"][name] = section(f"common.gpu.{name}", deadline, options)
        result["seconds"] = round(time.monotonic() - began, 1)
        if options.out is not None:
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _show(result)
    if options.out is not None:
        print(f"\n→ {options.out}")
    sys.exit(any(row["status"] == "failed" for row in _rows(result)))


def limits(only: Sequence[str] | None, *, on_gpu: bool, published: bool) -> dict[str, float]:
    """Seconds by section. Some of the sections share the time of all; on a CPU, which may be busy, each has plenty."""
    names = list(dict.fromkeys(only or SECTIONS))
    spare = (TOTAL_SECONDS - sum(SECTIONS[name] for name in names)) / len(names)
    seconds = {name: SECTIONS[name] + spare if on_gpu else CPU_SECONDS for name in names}
    return seconds | ({PUBLISHED: PUBLISHED_SECONDS} if published else {})


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
    parser.add_argument("--model", type=Path, help="folder of a model to train: adds the section published")
    parser.add_argument("--data", help="its prompts: gsm8k (downloaded) or a JSONL file with `answer`")
    options = parser.parse_args(arguments)
    if options.model is not None and not (options.model / "config.json").is_file():
        parser.error(
            f"--model: {options.model} has no config.json. Name the folder of a model in Hugging Face's format"
        )
    if options.data is not None and options.model is None:
        parser.error("--data: these are prompts for the model that --model names")
    if options.data not in (None, "gsm8k") and not Path(options.data).is_file():
        parser.error(f"--data: there is no file {options.data}. Name a JSONL file, or gsm8k")
    return options


def section(module: str, deadline: float, options: argparse.Namespace) -> dict[str, Any]:
    """Run a section in a process of its own: `{"seconds", "rows"}`. What it prints is shown only when it ends early."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-check-", dir=_scratch()) as folder:
        setting = Setting(
            options.device,
            options.tiny,
            Path(folder),
            options.model,
            options.data,
            deadline=deadline,
            whole=options.only is None,
        )
        rows, names, log = (Path(folder) / name for name in ("rows.jsonl", "names.json", "log"))
        process = multiprocessing.get_context("forkserver").Process(
            target=_run, args=(module, setting, rows, names, log)
        )
        process.start()
        _wait(process, deadline)
        limit = time.monotonic() - began
        stopped = process.exitcode is None
        why = f"stopped at its limit, after {limit:.0f} s" if stopped else f"status {process.exitcode}"
        ended = process.exitcode == 0
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)  # and whatever it has started
        process.join()
        results = [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []
        if not ended:
            text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            print(f"{text[-3000:]}\n{module}: {why}", file=sys.stderr)
            last = "" if stopped else "".join(f": {line[:300]}" for line in text.strip().splitlines()[-1:])
            row = Row(module.rpartition(".")[2], "failed", note=f"the section ended early: {why}{last}")
            results.append(dataclasses.asdict(row))
        expected = json.loads(names.read_text()) if names.exists() else []
        results += [dataclasses.asdict(row) for row in missing(expected, results)]
    return {"seconds": round(time.monotonic() - began, 1), "rows": results}


def _wait(process: BaseProcess, deadline: float) -> None:
    process.join(max(0.0, deadline - time.monotonic()))


def missing(expected: Sequence[str], results: Sequence[dict[str, Any]]) -> list[Row]:
    """Rows that a section has announced and not reached. Names are whole ones or their beginnings."""
    reached = [row["name"] for row in results]
    note = "not reached: the section ended before"
    return [waiting(name, note) for name in expected if not any(row.startswith(name) for row in reached)]


def _run(module: str, setting: Setting, rows: Path, names: Path, log: Path) -> None:
    """In the section's own process and session: write each row as it comes."""
    os.setsid()
    with log.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    imported = importlib.import_module(module)
    if hasattr(imported, "names"):
        names.write_text(json.dumps(imported.names()))
    with rows.open("w", encoding="utf-8") as out:
        for row in imported.run(setting):
            out.write(json.dumps(dataclasses.asdict(row)) + "\n")
            out.flush()


def _scratch() -> Path | None:
    """Where models are written for other processes: in memory where there is room."""
    if not MEMORY_FOLDER.is_dir():
        return None
    space = os.statvfs(MEMORY_FOLDER)
    return MEMORY_FOLDER if space.f_bavail * space.f_frsize > 8 * 2**30 else None


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for section in result["sections"].values() for row in section["rows"]]


def _show(result: dict[str, Any]) -> None:
    if result["device"] == "cpu" or result["tiny"]:
        print("Tiny models in place of a GPU: decisions are checked, and no figure is measured.\n")
    lines: list[Sequence[object]] = []
    for name, section in result["sections"].items():
        lines.append((f"{TITLES[name]} ({section['seconds']} s)", "", "", ""))
        for row in section["rows"]:
            value = NOT_MEASURED if row["status"] == "waiting" else _number(row["value"], row["unit"])
            lines.append(
                (f"  {row['name']}", value or row["note"][:LONGEST_NOTE], row["limit"], row["status"])
            )
    table(("row", "value", "limit", "status"), lines)
    rows = _rows(result)
    counts = {
        status: sum(row["status"] == status for row in rows) for status in ("passed", "failed", "waiting")
    }
    print(
        "\n" + ", ".join(f"{count} {status}" for status, count in counts.items()) + f"; {result['seconds']} s"
    )
    for row in rows:
        if row["status"] == "failed":
            print(f"  failed: {row['name']}: {row['note'] or _number(row['value'], row['unit'])}")
    for note, count in Counter(row["note"] for row in rows if row["status"] == "waiting").items():
        print(f"  {count} waiting: {note}")


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{text} {unit}".strip()


if __name__ == "__main__":
    main()
