"""`reinforge preflight` as a process: real trainer, real sandbox, the starter model."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from reinforge.offline.demo import job_file


def preflight(folder: Path, reward: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    files = job_file().parent
    spec: dict[str, Any] = {
        "model": "starter-arith",
        "data": {"dataset": str(files / "additions.jsonl"), "held_out": str(files / "heldout.jsonl")},
        "rewards": [{"name": "correct", "source": reward}],
        "rollout": {"prompts_per_step": 8, "completions_per_prompt": 4, "max_completion_tokens": 56},
        "limits": {"steps": 40},
    }
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(spec | changes), encoding="utf-8")
    command = [sys.executable, "-m", "reinforge.cli.main", "preflight", str(path), "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)


@pytest.mark.long
def test_the_demo_s_job_is_worth_starting(tmp_path: Path) -> None:
    done = preflight(tmp_path, (job_file().parent / "reward.py").read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["verdict"], report["error_share"]) == ("go", 0.0)
    assert report["completions"] == 8 * 8 * 4
    assert 0.3 < report["reward_mean"] < 0.7, "the base model is right about half of the time"
    assert report["hours"]["expected"] * 3600 > 39 * report["seconds_per_step"]
    assert report["memory_gib"]["low"] > 0.1
    assert report["reward_ms"] is not None
    assert sum(report["passes"]["histogram"]) == 64


@pytest.mark.parametrize(
    ("reward", "code"),
    [("def grade(sample, item):\n    return 0.0\n", "never_right"),
     pytest.param("def grade(sample, item):\n    return 1 / 0\n", "reward_errors", marks=pytest.mark.long)],
)  # fmt: skip
def test_one_that_cannot_learn_is_stopped(tmp_path: Path, reward: str, code: str) -> None:
    done = preflight(tmp_path, reward)
    assert done.returncode == 1, done.stderr
    if code == "never_right":
        report = json.loads(done.stdout)
        assert (report["verdict"], report["reasons"][0]["code"]) == ("stop", code)
    else:
        # No step is complete when every completion fails: the traceback is the answer.
        assert "ZeroDivisionError" in done.stdout + done.stderr


@pytest.mark.long
def test_data_with_other_names_is_scored_by_its_declared_answer_or_refused(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (job_file().parent / "heldout.jsonl").read_text().splitlines()[:12]]
    data = tmp_path / "sums.jsonl"
    data.write_text(
        "".join(
            json.dumps({"question": r["messages"][0]["content"], "result": r["answer"]}) + "\n" for r in rows
        )
    )
    reward = (job_file().parent / "reward.py").read_text(encoding="utf-8")
    view = {"dataset": str(data), "held_out_rows": 0, "columns": {"prompt": "question"}}
    refused = preflight(tmp_path, reward, data=view)
    output = refused.stdout + refused.stderr
    assert refused.returncode == 1, output
    assert "reads item.answer, but sums.jsonl has no such column" in output
    assert "data.columns.answer: result" in output

    view["columns"] = {"prompt": "question", "answer": "result"}
    short = {"prompts_per_step": 2, "completions_per_prompt": 2, "max_completion_tokens": 24}
    scored = preflight(tmp_path, reward, data=view, rollout=short)
    assert json.loads(scored.stdout)["error_share"] == 0.0, scored.stderr
