"""Section `peer`: the update beside TRL's, on as many rows of the same sizes of the same model."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from common.gpu.models import RANK, sequences, shape_of, trainable
from common.gpu.rows import Row, Setting, at_least, figure, of_gpu, waiting
from common.gpu.update import ENGINE, FEW, Load, step
from common.measure import ROOT, visible_devices
from common.random_model import prompts, save

PEER = ROOT / "benchmarks" / "peers" / "trl_update.py"
MICRO_BATCHES = (2, 1)
"""Parts of a step that TRL may take one after the other; the fastest counts. Of 2, 4 and 8 it was 2 on an H200."""
WHOLE_GIB = 100
"""Memory from which TRL can try the step in one part: with 80 GiB it runs out."""
STEPS = 3
GOAL = 2.0
"""Times TRL's update."""
SECONDS = {"cuda": 45, "cpu": 500}
"""For each run of TRL. A CPU may be busy."""
SIZE = "1.5B"
THEIRS, OURS, RATIO = (
    f"{SIZE}, {FEW.label}: {part}" for part in ("TRL's update", "our update", "TRL's update ÷ ours")
)


def names() -> list[str]:
    return [THEIRS, OURS, RATIO]


def run(setting: Setting) -> Iterator[Row]:
    if importlib.util.find_spec("trl") is None:
        yield from (waiting(name, "TRL is not installed") for name in names())
        return
    load = FEW.fitted(setting)
    folder = setting.folder / "model"
    save(folder, shape_of(SIZE, setting), device=setting.device)
    setting.reset_peak()  # what this process keeps would be missing to TRL's
    runs = {parts: _peer(folder, load, parts, setting) for parts in _parts(setting)}
    failures = {parts: result for parts, result in runs.items() if isinstance(result, str)}
    if len(failures) == len(runs):
        yield Row(THEIRS, "failed", note=f"TRL ended early: {next(iter(failures.values()))}")
        yield from (waiting(name, "there is no update of TRL to compare with") for name in (OURS, RATIO))
        return
    best = min((min(r["steps"][1:]), parts) for parts, r in runs.items() if not isinstance(r, str))
    model = trainable(SIZE, setting)
    rows = sequences(model.shape, load.groups, load.per_group, load.prompt, load.completion)
    ours = min([step(model, rows, setting) for _ in range(STEPS)][1:])
    yield of_gpu(figure(THEIRS, best[0], "s", parts=best[1], ended_early=failures), setting)
    yield of_gpu(figure(OURS, ours, "s", engine=ENGINE), setting)
    yield of_gpu(at_least(RATIO, best[0] / ours, GOAL, "×", engine=ENGINE), setting)


def _parts(setting: Setting) -> tuple[int, ...]:
    if setting.tiny or (
        setting.device == "cuda" and torch.cuda.get_device_properties(0).total_memory < WHOLE_GIB * 2**30
    ):
        return MICRO_BATCHES[:1]
    return MICRO_BATCHES


def _peer(model: Path, load: Load, parts: int, setting: Setting) -> dict[str, Any] | str:
    """What TRL's run wrote, or why it ended early."""
    job = {
        "prompts": prompts(load.groups * STEPS, load.prompt, shape_of(SIZE, setting).vocabulary),
        "rollout": {
            "prompts_per_step": load.groups,
            "completions_per_prompt": load.per_group,
            "max_completion_tokens": load.completion,
        },
        "micro_batches": parts,
        "limits": {"steps": STEPS},
        "optimizer": {"learning_rate": 1e-6},
        "adapter": {"rank": RANK},
        "device": setting.device,
        "loss_type": "dapo",
    }
    file, out = setting.folder / f"settings-{parts}.json", setting.folder / f"out-{parts}.json"
    file.write_text(json.dumps(job), encoding="utf-8")
    command = [sys.executable, str(PEER), "--model", str(model), "--settings", str(file), "--out", str(out)]
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": visible_devices(setting.device),
    }
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS[setting.device],
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS[setting.device]} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return lines[-1][:300] if lines else f"status {done.returncode}"
    result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return result
