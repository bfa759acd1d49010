"""A whole job through `reinforge train`, sampled by vLLM, whose reward rises."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from worker.vllm_python import VARIABLE

EXAMPLE = Path(__file__).parents[4] / "examples" / "arithmetic"
STEPS = 12


def job_file(folder: Path, **limits: Any) -> Path:
    raw = yaml.safe_load((EXAMPLE / "job.yaml").read_text())
    raw["rollout"]["engine"] = "vllm"
    raw["evaluation"]["every_steps"] = 0
    raw["limits"] = {"steps": STEPS, "checkpoint_every": STEPS} | limits
    raw["data"] |= {name: str(EXAMPLE / raw["data"][name]) for name in ("dataset", "held_out")}
    raw["rewards"][0]["path"] = str(EXAMPLE / "reward.py")
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def train(folder: Path, **environment: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    command = [sys.executable, "-m", "reinforge.cli.main", "train", str(job_file(folder))]
    done = subprocess.run(
        [*command, "--out", str(folder / "out")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    lines = (folder / "out" / "records.jsonl").read_bytes().splitlines()
    return done, [json.loads(line) for line in lines]


@pytest.mark.vllm
@pytest.mark.timeout(1200)
def test_the_reward_rises_and_the_sampler_is_the_trainer(python: Path, tmp_path: Path) -> None:
    done, records = train(tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    of = {kind: [r for r in records if r["kind"] == kind] for kind in {r["kind"] for r in records}}
    before, after = (each["values"]["held_out/reward_mean"] for each in of["evaluated"])
    assert after > before + 0.1
    steps = [each["values"] for each in of["step_metrics"]]
    assert len(steps) == STEPS
    assert all(values["sampler/gap_max"] < 1e-3 for values in steps)
    assert all(
        abs(values["sampler/weight_mean"] - 1) < 1e-3 for values in steps
    )  # weighed without being asked
    [started] = of["started"]
    assert (started["facts"]["engine"], started["facts"]["versions"]["vllm"][:4]) == ("vllm", "0.32")
    messages = [each["message"] for each in of["log"]]
    assert any(each.startswith("vLLM and the trainer agree about the policy") for each in messages)
    assert any(each["phase"] == "starting_engine" and each["total"] for each in of["phase"])
    assert (tmp_path / "out" / "adapter" / "adapter_model.safetensors").is_file()
    assert "Application startup complete" in (tmp_path / "out" / "vllm.log").read_text()
    assert not left_of(tmp_path)


def left_of(folder: Path) -> list[str]:
    """Command lines of processes that still name the folder or a server of vLLM's with this job's log open."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            text = (
                (process / "cmdline").read_bytes().decode(errors="replace") if process.name.isdigit() else ""
            )
            logs = [str(link.readlink()) for link in (process / "fd").iterdir()] if text else []
        except OSError:
            continue
        if str(folder / "out" / "vllm.log") in logs:
            found.append(text)
    return found


def test_a_worker_without_vllm_says_so_before_it_loads_anything(tmp_path: Path) -> None:
    done, records = train(tmp_path, **{VARIABLE: "/nowhere/python"})
    assert done.returncode != 0
    end = records[-1]
    assert (end["outcome"], end["reason"]) == ("paused", "engine_missing")
    assert "/nowhere/python" in end["message"] and "make vllm" in end["hint"]
    assert [each["kind"] for each in records] == ["phase", "ended"]
