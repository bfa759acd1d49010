"""`reinforge train`: the job without a server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reinforge.errors import InvalidInput
from reinforge.offline import train
from reinforge.spec import JobSpec
from tests.support.processes import all_gone, eventually
from tests.worker.sandbox.harness import running_daemon

ARITHMETIC = Path(__file__).resolve().parents[3] / "examples" / "arithmetic"


def job_file(folder: Path, steps: int) -> Path:
    spec = {
        "model": "starter-arith",
        "data": {"dataset": str(ARITHMETIC / "additions.jsonl"), "held_out_rows": 4},
        "rewards": [{"path": str(ARITHMETIC / "reward.py")}],
        "rollout": {"prompts_per_step": 2, "completions_per_prompt": 4, "max_completion_tokens": 32},
        "evaluation": {"every_steps": 0, "rows": 4, "samples_per_row": 1},
        "limits": {"steps": steps},
    }
    path = folder / "job.json"
    path.write_text(json.dumps(spec))
    return path


def command(folder: Path, steps: int) -> list[str]:
    file = job_file(folder, steps)
    return [sys.executable, "-m", "reinforge.cli.main", "train", str(file), "--out", str(folder / "run")]


def descendants(pid: int) -> list[int]:
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:  # it has just ended
                continue
            if parent == pid:
                pids += [int(entry.name), *descendants(int(entry.name))]
    return pids


def test_it_leaves_records_metrics_and_an_adapter(tmp_path: Path) -> None:
    done = subprocess.run([*command(tmp_path, 2), "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "succeeded"
    run = tmp_path / "run"
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [(line["kind"], line["step"]) for line in steps] == [
        ("held_out", 0), ("train", 1), ("train", 2), ("held_out", 2),
    ]  # fmt: skip
    assert {"adapter_config.json", "adapter_model.safetensors"} <= {
        p.name for p in (run / "adapter").iterdir()
    }


@pytest.mark.long
def test_killed_it_leaves_no_process(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(tmp_path, 10_000), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        metrics = tmp_path / "run" / "metrics.jsonl"
        eventually(
            lambda: metrics.is_file() and metrics.read_text().count('"train"') >= 1, within=120, what="a step"
        )
        pids = descendants(process.pid)
        assert len(pids) >= 3  # the sandbox's keeper, the sandbox, the trainer
    finally:
        process.kill()
        process.wait()
    all_gone(pids)


def test_a_folder_that_holds_something_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    spec = JobSpec.model_validate(json.loads(job_file(tmp_path, 1).read_text()))
    with pytest.raises(InvalidInput) as caught:
        train.train(spec, tmp_path)
    assert caught.value.code == "out_exists"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"model": "no-such-model"}, "model"),
        ({"data": {"dataset": "none.jsonl"}}, "data.dataset"),
        ({"rewards": [{"path": "none.py"}]}, "rewards[0].path"),
        ({"rewards": [{"reward": "rew_1"}]}, "rewards[0].reward"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, change: dict[str, object], param: str) -> None:
    spec = JobSpec.model_validate(json.loads(job_file(tmp_path, 1).read_text()) | change)
    with pytest.raises(InvalidInput) as caught:
        train.prepare(spec, tmp_path / "run", tmp_path / "socket")
    assert caught.value.param == param


@pytest.mark.long
def test_it_scores_on_a_sandbox_of_another_machine(tmp_path: Path) -> None:
    with running_daemon(tcp=True) as daemon:
        far = {"SANDBOX_URL": f"tcp://127.0.0.1:{daemon.port()}", "SANDBOX_KEY_FILE": str(daemon.key_file)}
        done = subprocess.run(
            [*command(tmp_path, 2), "--json"],
            capture_output=True,
            text=True,
            timeout=240,
            env=os.environ | far,
        )
        assert done.returncode == 0, done.stderr
        daemon.process.terminate()
        assert daemon.process.wait(20) == 0
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    scored = [line["values"]["reward/mean"] for line in steps if line["kind"] == "train"]
    assert len(scored) == 2 and None not in scored
    assert not list((tmp_path / "run").rglob("*.sock")), "it started none of its own"
