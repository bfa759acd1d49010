"""`reinforge train` with graders: a multi with a judge, and a reward that errs on every third row."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.judge_stub import JudgeRequest, Reply, Stub, judged

ARITHMETIC = Path(__file__).resolve().parents[3] / "examples" / "arithmetic"
KEY = "sk-only-in-the-environment"
SHORT = """
def grade(sample, item):
    return {"score": 1.0 if len(sample["output_text"]) < 400 else 0.0, "reason": "length"}
"""
THIRD = """
def grade(sample, item):
    if item["n"] % 3 == 0:
        raise RuntimeError(f"row {item['n']} is no good")
    return min(len(sample["output_text"]) % 7, 3) / 3
"""


def train(
    folder: Path, rewards: list[dict[str, Any]], *, steps: int, env: dict[str, str] | None = None, **more: Any
) -> Path:
    rows = [json.loads(line) for line in (ARITHMETIC / "additions.jsonl").read_text().splitlines()[:9]]
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row | {"n": n}) + "\n" for n, row in enumerate(rows)))
    spec = {
        "model": "starter-arith",
        "data": {"dataset": str(data), "held_out_rows": 0, "sampling": "in_order"},
        "rewards": rewards,
        "rollout": {"prompts_per_step": 3, "completions_per_prompt": 4, "max_completion_tokens": 24},
        "evaluation": {"rows": 0},
        "limits": {"steps": steps, "checkpoint_every": 100} | more.pop("limits", {}),
    } | more
    file, run = folder / "job.json", folder / "run"
    file.write_text(json.dumps(spec))
    command = [sys.executable, "-m", "reinforge.cli.main", "train", str(file), "--out", str(run), "--json"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"} | (env or {})
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr + done.stdout
    assert json.loads(done.stdout)["outcome"] == "succeeded", done.stdout
    return run


def steps(run: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line["values"] for line in lines if line["kind"] == "train"]


def results(run: Path) -> list[list[dict[str, Any]]]:
    """Per completion what its rewards said, over all steps."""
    parsed = []
    for line in (run / "records.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["kind"] == "rollouts":
            table = pq.read_table(run / "blobs" / record["blob"]["sha256"]).to_pylist()
            parsed += [json.loads(row["rewards"]) for row in table]
    return parsed


@pytest.mark.long
def test_a_multi_of_rule_code_and_judge_trains_with_the_right_counters(tmp_path: Path) -> None:
    def behave(request: JudgeRequest, _: int) -> Reply:
        return judged("clear" if "<answer>" in request.text else "unclear")

    multi = {
        "type": "multi",
        "name": "both",
        "graders": {
            "form": {
                "type": "string_check",
                "input": "{{ sample.output_text }}",
                "reference": "=",
                "operation": "like",
            },
            "short": {"type": "python", "source": SHORT},
            "tone": {
                "type": "label_model",
                "model": "friend",
                "input": [{"role": "user", "content": "{{ item.answer }}: {{ sample.output_text }}"}],
                "labels": ["clear", "unclear"],
                "passing_labels": ["clear"],
            },
        },
        "calculate_output": "0.5 * form * short + 0.5 * tone",
        "gates": {"tone": {"part": "form"}},
    }
    judge = {"model": "m", "api_key_env": "FRIENDS_KEY", "input_price": 1000, "output_price": 5000}
    with Stub(behave) as stub:
        judges = {"friend": judge | {"base_url": stub.url + "/v1"}}
        run = train(tmp_path, [multi], steps=2, judges=judges, env={"FRIENDS_KEY": KEY})
        questions = len(stub.requests)
        assert {request.headers["authorization"] for request in stub.requests} == {f"Bearer {KEY}"}

    rewards = [reward for (reward,) in results(run)]
    assert len(rewards) == 2 * 12
    assert {reward["status"] for reward in rewards} == {"ok"}
    for reward in rewards:
        form, tone = reward["parts"]["form"], reward["parts"].get("tone")
        assert reward["value"] == 0.5 * form * reward["parts"]["short"] + 0.5 * (tone or 0)
        assert (tone is None) == (form == 0) == (reward["part_status"] == {"tone": "not_applicable"})
        assert (reward["labels"] == {}) == (tone is None)
    judged_rewards = [reward for reward in rewards if reward["usage"]]
    paid = [reward["usage"]["friend"] for reward in judged_rewards if reward["usage"]["friend"]["calls"]]
    assert len(paid) == questions

    metrics = steps(run)
    assert sum(step["judge/calls"] for step in metrics) == questions
    assert sum(step["judge/spared"] for step in metrics) == len(rewards) - len(judged_rewards)
    assert metrics[-1]["judge/cost"] == pytest.approx(questions * (100 * 1000 + 20 * 5000) / 1e6)
    assert sum(step["judge/input_tokens"] for step in metrics) == 100 * questions
    for number, step in enumerate(metrics):
        of_step = [reward for reward in rewards[12 * number : 12 * number + 12] if "tone" in reward["labels"]]
        clear = sum(reward["labels"]["tone"] == "clear" for reward in of_step) / max(1, len(of_step))
        assert step.get("reward/both/part/tone/label/clear", 0.0) == clear
        assert step["reward/error_share"] == 0

    leaks = [path for path in run.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert leaks == []


def test_a_reward_that_errs_on_every_third_row_trains_to_the_end_with_right_counters(tmp_path: Path) -> None:
    run = train(tmp_path, [{"name": "third", "source": THIRD}], steps=3, limits={"error_share": 0.5})
    metrics = steps(run)
    assert len(metrics) == 3
    assert all(abs(step["reward/error_share"] - 1 / 3) < 1e-9 for step in metrics)
    rewards = [reward for (reward,) in results(run)]
    failed = [reward for reward in rewards if reward["status"] == "exception"]
    assert (len(rewards), len(failed)) == (36, 12)
    assert {reward["value"] for reward in failed} == {None}
    assert all("is no good" in reward["message"] for reward in failed)
    for number, step in enumerate(metrics):
        values = [
            reward["value"]
            for reward in rewards[12 * number : 12 * number + 12]
            if reward["value"] is not None
        ]
        assert len(values) == 8
        assert abs(step["reward/third/mean"] - sum(values) / 8) < 1e-9
        assert abs(step["reward/mean"] - sum(values) / 8) < 1e-6
