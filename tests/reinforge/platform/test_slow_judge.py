"""A judge that takes a minute for every answer hurts nobody who asks it: a test of a reward, and a whole job."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import Platform
from tests.support.judge_stub import JudgeRequest, Reply, Stub, judged

KEY = "rf-slow-judge-owner-key-0123456789"
SLOW_SECONDS = 60.0
GRADER = {
    "type": "score_model",
    "name": "style",
    "model": "slow",
    "input": [{"role": "user", "content": "Rate {{ sample.output_text }}"}],
    "range": [0, 10],
}


def minute(_: JudgeRequest, number: int) -> Reply:
    time.sleep(SLOW_SECONDS)
    return judged(number % 10)


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    home = tmp_path / "home"
    monkeypatch.setenv(ALLOW_VARIABLE, "127.0.0.1")
    try:
        with (
            Platform(home, port=0, bootstrap_api_key=KEY) as platform,
            httpx.Client(
                base_url=f"{platform.url}/api/v1/",
                headers={"authorization": f"Bearer {KEY}"},
                timeout=400,
                trust_env=False,
            ) as client,
        ):
            yield client
    finally:
        EmbeddedPostgres(home).destroy()


def answer(response: httpx.Response) -> dict[str, Any]:
    assert response.is_success, response.text
    body: dict[str, Any] = response.json()
    return body


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_reward_test_and_a_job_wait_for_a_judge_of_a_minute(api: httpx.Client) -> None:
    with Stub(minute) as stub:
        answer(api.post("judges", json={"name": "slow", "base_url": f"{stub.url}/v1", "model": "m"}))
        source = json.dumps(GRADER)
        rows = [{"completion": "a", "item": {}}]
        tested = answer(api.post("rewards/test", json={"source": source, "rows": rows}))
        assert [row["status"] for row in tested["results"]] == ["ok"]

        lines = "".join(json.dumps({"prompt": f"{n}+1=", "answer": str(n + 1)}) + "\n" for n in range(8))
        dataset = answer(api.post("datasets", files={"file": ("sums.jsonl", lines.encode())}))["id"]
        spec = {
            "model": "starter-arith",
            "data": {"dataset": dataset, "held_out_rows": 0},
            "rewards": [{"type": "grader", "name": "style", "grader": GRADER}],
            "rollout": {"prompts_per_step": 2, "completions_per_prompt": 2, "max_completion_tokens": 8},
            "adapter": {"rank": 4},
            "limits": {"steps": 1},
        }
        job = answer(api.post("jobs", json=spec))["id"]
        while (state := answer(api.get(f"jobs/{job}")))["status"] not in ("succeeded", "failed", "paused"):
            time.sleep(2)
        assert state["status"] == "succeeded", state
        completions = answer(api.get(f"jobs/{job}/completions"))["data"]
        assert len(completions) == 4 and all(row["error"] is None for row in completions)
        assert len(stub.requests) >= 2  # one answer serves equal completions
