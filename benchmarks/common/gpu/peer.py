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
from common.gpu.rows import Row, Setting, at_least, figure, waiting
from common.gpu.update import FEW, TINY, step
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
SECONDS = 60


def run(setting: Setting) -> Iterator[Row]:
    name = "1.5B: update beside TRL's"
    if importlib.util.find_spec("trl") is None:
        yield waiting(name, "TRL is not installed")
        return
    load = TINY if setting.tiny else FEW
    folder = setting.folder / "model"
    shape = shape_of("1.5B", setting)
    save(folder, shape, device=setting.device)
    runs = {parts: _peer(folder, load.groups, load.per_group, load.prompt, load.completion, parts, setting)
            for parts in _parts(setting)}  # fmt: skip
    for parts, result in runs.items():
        if isinstance(result, str):
            yield waiting(f"1.5B: TRL in {parts} parts", result)
    if all(isinstance(result, str) for result in runs.values()):
        yield Row(name, "failed", note="TRL ended early in all of its sizes")
        return
    best = min((min(r["steps"][1:]), parts) for parts, r in runs.items() if not isinstance(r, str))
    model = trainable("1.5B", setting)
    rows = sequences(model.shape, load.groups, load.per_group, load.prompt, load.completion)
    ours = min([step(model, rows, setting) for _ in range(STEPS)][1:])
    yield figure(f"1.5B, {load.label}: TRL's update", best[0], "s", parts=best[1])
    yield figure(f"1.5B, {load.label}: our update", ours, "s")
    ratio = best[0] / ours
    yield figure(name, ratio, "×") if setting.tiny else at_least(name, ratio, GOAL, "×")


def _parts(setting: Setting) -> tuple[int, ...]:
    if setting.tiny or (
        setting.device == "cuda" and torch.cuda.get_device_properties(0).total_memory < WHOLE_GIB * 2**30
    ):
        return MICRO_BATCHES[:1]
    return MICRO_BATCHES


def _peer(
    model: Path, groups: int, per_group: int, prompt: int, completion: int, parts: int, setting: Setting
) -> dict[str, Any] | str:
    """What TRL's run wrote, or why it ended early."""
    job = {
        "prompts": prompts(groups * STEPS, prompt, shape_of("1.5B", setting).vocabulary),
        "rollout": {
            "prompts_per_step": groups,
            "completions_per_prompt": per_group,
            "max_completion_tokens": completion,
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
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return lines[-1][:300] if lines else f"status {done.returncode}"
    result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return result
