"""Both trainers as processes of their own on one job file: when each step ended, and the memory that it took."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from common.measure import ROOT, visible_devices
from reinforge.offline.train import model_folder

PEER = ROOT / "benchmarks" / "peers" / "trl_grpo.py"
TRIAL_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Run:
    seconds: list[float]
    """Of each step after the first."""
    samples_per_s: float
    memory_mib: float
    """The most held, above what was held once the model was loaded; on a GPU of its memory."""
    rewards: list[float]
    update_seconds: list[float] = field(default_factory=list)
    """Of each step after the first: forward, backward and the optimizer."""


class RunFailed(SystemExit):
    """A process ended with an error, with what it said last, or ran under other conditions than it should."""


def reinforge(job: dict[str, Any], threads: int | None, device: str = "cpu") -> Run:
    """threads: None where it follows its own rule. It takes a GPU where it sees one."""
    variables = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "job.json", Path(folder) / "run"
        file.write_text(json.dumps(job), encoding="utf-8")
        command = ["-m", "reinforge.cli.main", "train", str(file), "--out", str(out), "--quiet"]
        held = _watched(command, str(out), device, **variables)
        lines = (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    steps = [record for record in records if record["kind"] == "step_metrics"]
    loaded_at = next(r["ts"] for r in records if r["kind"] == "phase" and r["phase"] == "generating")
    check_conditions([r["facts"] for r in records if r["kind"] == "started"][-1], device)
    values = [step["values"] for step in steps]
    if device == "cpu":
        memory = max(mib for _, mib in held) - [mib for at, mib in held if at <= loaded_at][-1]
    else:
        memory = 1024 * max(step["memory/peak"] for step in values) - _weights_mib(Path(job["model"]))
    updates = [step["time/update"] for step in values]
    return _run(
        job, [step["ts"] for step in steps], memory, [step["reward/mean"] for step in values], updates
    )


def check_conditions(facts: dict[str, Any], device: str) -> None:
    """Raises RunFailed where our side ran elsewhere than asked, or computed layers twice, which the peer does not."""
    if (facts["device"] == "cpu") != (device == "cpu"):
        raise RunFailed(f"Reinforge ran on {facts['device']}, not on {device}")
    if facts["gradient_checkpointing"]:
        raise RunFailed("Reinforge needs gradient checkpointing here: too little memory for this comparison")


def trl(job: dict[str, Any], device: str, choice: tuple[int, int], seconds: float | None = None) -> Run:
    """Raises subprocess.TimeoutExpired after `seconds`."""
    report = run_trl(job | {"loss_type": "dapo"}, device, choice, seconds)
    starts = [report["began"], *report["ends"][:-1]]
    updates = [
        end - start - sampling
        for start, end, sampling in zip(starts, report["ends"], report["sample_seconds"], strict=True)
    ]
    return _run(job, report["ends"], report["peak_mib"] - report["loaded_mib"], report["rewards"], updates)


def run_trl(
    job: dict[str, Any], device: str, choice: tuple[int, int], seconds: float | None = None
) -> dict[str, Any]:
    """What `peers/trl_grpo.py` writes, which also says what a job may ask for. Raises subprocess.TimeoutExpired after
    `seconds`."""
    threads, micro_batches = choice
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "settings.json", Path(folder) / "out.json"
        settings = job | {"micro_batches": micro_batches, "device": device}
        file.write_text(json.dumps(settings), encoding="utf-8")
        command = [
            str(PEER),
            "--model", str(model_folder(job["model"])), "--settings", str(file), "--out", str(out),
            "--dataset", job["data"]["dataset"], "--reward", job["rewards"][0]["path"],
        ]  # fmt: skip
        _finish(_start(command, device, OMP_NUM_THREADS=str(threads)), seconds)
        report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report


def fastest(job: dict[str, Any], device: str, choices: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The threads and micro-batches of `choices` that TRL runs fastest with, of those that it has memory and time for.
    Raises RunFailed when it fails in another way, or with all of them."""
    short, rates = job | {"limits": {"steps": 3, "checkpoint_every": 4}}, dict[tuple[int, int], float]()
    for choice in choices:
        try:
            rates[choice] = trl(short, device, choice, TRIAL_SECONDS).samples_per_s
        except subprocess.TimeoutExpired:
            continue
        except RunFailed as error:
            if "out of memory" not in str(error):
                raise
    if not rates:
        raise RunFailed(
            f"TRL has neither memory nor time for any of {list(choices)} (threads, micro-batches)"
        )
    return max(rates, key=lambda choice: rates[choice])


def _run(
    job: dict[str, Any], ends: Sequence[float], memory: float, rewards: list[float], updates: Sequence[float]
) -> Run:
    rollout = job["rollout"]
    samples = (len(ends) - 1) * rollout["prompts_per_step"] * rollout["completions_per_prompt"]
    seconds = [after - before for before, after in pairwise(ends)]
    return Run(seconds, samples / (ends[-1] - ends[0]), memory, rewards, list(updates[1:]))


def _weights_mib(model: Path) -> float:
    return sum(file.stat().st_size for file in model.glob("*.safetensors")) / 2**20


def _start(arguments: Sequence[str], device: str, **variables: str) -> "subprocess.Popen[str]":
    visible = {"CUDA_VISIBLE_DEVICES": visible_devices(device)}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"HF_HUB_OFFLINE": "1"} | visible | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _finish(process: "subprocess.Popen[str]", seconds: float | None = None) -> None:
    """Wait; what it said is shown only when it failed."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    if process.returncode:
        raise RunFailed(f"{process.args} ended with {process.returncode}:\n{output[-4000:]}")


def _watched(
    arguments: Sequence[str], marked: str, device: str, **variables: str
) -> list[tuple[float, float]]:
    """(time, MiB) of the trainer whose command line has `marked`, every 20 ms while it runs, and of the copies of it
    that sample what they do not share with it, twice a second: counting that takes a core for milliseconds."""
    process, held, trainer = _start(arguments, device, **variables), list[tuple[float, float]](), None
    own, counted = 0.0, 0.0
    while process.poll() is None:
        trainer = trainer or _trainer(marked)
        if trainer is not None:
            try:
                if time.monotonic() - counted > 0.5:
                    own, counted = sum(map(_own_mib, _copies(trainer))), time.monotonic()
                held.append((time.time(), _mib(trainer) + own))
            except (OSError, IndexError):
                trainer = None
        time.sleep(0.02)
    _finish(process)
    return held


def _trainer(marked: str) -> Path | None:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"worker.trainer.main" in words and marked.encode() in words:
            return folder
    return None


def _copies(trainer: Path) -> list[Path]:
    """Its children that are forks of it."""
    children = (trainer / "task" / trainer.name / "children").read_text(encoding="ascii").split()
    folders = [Path("/proc") / child for child in children]
    words = (trainer / "cmdline").read_bytes()
    return [folder for folder in folders if (folder / "cmdline").read_bytes() == words]


def _mib(folder: Path) -> float:
    return int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _own_mib(folder: Path) -> float:
    """What no other process has."""
    lines = (folder / "smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 2**10
