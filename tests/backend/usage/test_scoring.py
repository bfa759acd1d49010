"""Usage and budgets of judges, wherever something is scored."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.backend.evaluations.sampler import Sampler, sampler
from tests.backend.evaluations.test_replays import job_with_completions
from tests.backend.people import made, refusal
from tests.backend.server import OWNER_KEY, REWARD, Backend, wait_until
from tests.backend.usage.counted import of, usage

COST = 0.25
JUDGE: dict[str, Any] = {
    "type": "score_model",
    "name": "tone",
    "model": "critic",
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
}
ROWS = [{"completion": text, "item": {"answer": "4"}} for text in ("4", "5")]
CASES = [{"item": {}, "prompt": "2 + 2?", "completion": "4", "expect": {"value": 1}}]


def paid(payload: dict[str, Any]) -> dict[str, Any]:
    """A worker whose judge costs COST a completion."""
    result = {"name": payload["name"], "status": "ok", "value": 1.0,
              "usage": {"critic": {"cost": COST, "calls": 1.0}}}  # fmt: skip
    return {"jail": "L", "results": [result] * len(payload["rows"]), "load_error": None}


@pytest.fixture(scope="module")
def judge(rpc_backend: Backend) -> None:
    body = {"name": "critic", "base_url": "http://judge.example/v1", "model": "m", "api_key": "sk"}
    made(rpc_backend.api.post("/judges", json=body))


@pytest.fixture
def scoring(rpc_backend: Backend, judge: None) -> Iterator[Backend]:
    with rpc_backend.rpc_worker(score=paid):
        yield rpc_backend
    rpc_backend.sql("DELETE FROM usage")


@pytest.fixture
def reward(scoring: Backend) -> str:
    """A stored one that asks the judge, with a golden case."""
    body = {"name": f"tone {len(scoring.api.get('/rewards').json()['data'])}", "grader": JUDGE}
    id = str(made(scoring.api.post("/rewards", json=body))["id"])
    made(scoring.api.post(f"/rewards/{id}/golden-cases", json={"cases": CASES}))
    return id


def spent(backend: Backend, source: str | None = None) -> float:
    amounts = usage(backend)["totals"] if source is None else of(backend, source)
    return float(amounts.get("judge_spend", 0.0))


def ended(backend: Backend, id: str) -> dict[str, Any]:
    def finished() -> dict[str, Any] | None:
        view: dict[str, Any] = backend.api.get(f"/evaluations/{id}").json()
        return view if view["status"] != "running" else None

    evaluation: dict[str, Any] = wait_until(finished, "the evaluation")
    return evaluation


def try_source(backend: Backend, reward: str) -> httpx.Response:
    return backend.api.post("/rewards/test", json={"grader": JUDGE, "rows": ROWS})


def try_stored(backend: Backend, reward: str) -> httpx.Response:
    return backend.api.post(f"/rewards/{reward}/test", json={"rows": ROWS})


def run_cases(backend: Backend, reward: str) -> httpx.Response:
    return backend.api.post(f"/rewards/{reward}/golden-cases/run", json={})


def run_grader(backend: Backend, reward: str) -> httpx.Response:
    with backend.client(OWNER_KEY, "/v1/fine_tuning/alpha/graders") as wire:
        return wire.post("/run", json={"grader": JUDGE, "model_sample": "4", "item": {}})


def gate_of_a_job(backend: Backend, reward: str) -> httpx.Response:
    return backend.api.post("/jobs", json=backend.spec(rewards=[{"name": "tone", "reward": reward}]))


WAYS = [
    pytest.param(try_source, 2, False, id="reward test"),
    pytest.param(try_stored, 2, True, id="stored reward test"),
    pytest.param(run_cases, 1, True, id="golden run"),
    pytest.param(run_grader, 1, False, id="graders/run"),
    pytest.param(gate_of_a_job, 1, True, id="golden gate"),
]


@pytest.mark.parametrize(("ask", "completions", "stored"), WAYS)
def test_judges_are_counted_and_refused_when_nothing_is_left(
    scoring: Backend, reward: str, budget: Any, ask: Callable[..., httpx.Response], completions: int,
    stored: bool,
) -> None:  # fmt: skip
    assert ask(scoring, reward).status_code in (200, 201)
    assert spent(scoring) == completions * COST
    assert spent(scoring, reward) == (completions * COST if stored else 0)
    if stored:
        [name] = [
            source_row["name"] for source_row in usage(scoring)["sources"] if source_row["source"] == reward
        ]
        assert name is not None
        assert name.startswith("tone")
    budget("judge_spend", completions * COST)
    assert refusal(ask(scoring, reward)) == (409, "budget_exceeded")
    assert spent(scoring) == completions * COST


def test_rewards_that_ask_no_judge_are_scored_whatever_judges_have_cost(
    scoring: Backend, budget: Any
) -> None:
    budget("judge_spend", 0)
    answer = scoring.api.post("/rewards/test", json={"source": REWARD, "rows": ROWS})
    assert answer.status_code == 200


def test_a_replay_is_counted_refused_and_stopped_between_calls(
    scoring: Backend, reward: str, budget: Any
) -> None:
    job = job_with_completions(scoring, [1.0, 0.0], [1.0, 1.0], [0.0, 0.0])
    body = {"job": job, "stored": reward}
    done = ended(scoring, made(scoring.api.post("/evaluations", json=body))["id"])
    assert (done["status"], spent(scoring, done["id"])) == ("succeeded", 6 * COST)
    [name] = [
        source_row["name"] for source_row in usage(scoring)["sources"] if source_row["source"] == done["id"]
    ]
    assert name == f"Replay of {scoring.job(job)['name']}"

    budget("judge_spend", 6 * COST + 3 * COST)  # spent within the second step
    stopped = ended(scoring, made(scoring.api.post("/evaluations", json=body))["id"])
    assert (stopped["status"], stopped["error"]["code"]) == ("failed", "budget_exceeded")
    assert (stopped["done"], spent(scoring, stopped["id"])) == (4, 4 * COST)
    assert refusal(scoring.api.post("/evaluations", json=body)) == (409, "budget_exceeded")
    free = made(scoring.api.post("/evaluations", json={"job": job, "source": REWARD}))
    assert ended(scoring, free["id"])["status"] == "succeeded"


def test_an_evaluations_judges_are_counted_and_stop_it(
    rpc_backend: Backend, judge: None, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sampler, "_scores", staticmethod(paid))
    rows = [{"prompt": f"{n}+1=", "answer": "1"} for n in range(40)]
    body = {"kind": "stand_alone", "model": rpc_backend.add_model(), "dataset": rpc_backend.add_dataset(rows),
            "source": json.dumps(JUDGE), "samples_per_row": 1}  # fmt: skip
    with sampler(rpc_backend) as worker:
        worker.gate = type(worker.gate)(1)
        id = made(rpc_backend.api.post("/evaluations", json=body))["id"]
        wait_until(lambda: spent(rpc_backend, id) == 16 * COST, "the first batch")
        budget("judge_spend", 10 * COST)
        worker.gate.release(100)
        stopped = ended(rpc_backend, id)
        assert (stopped["status"], stopped["error"]["code"]) == ("failed", "budget_exceeded")
        assert refusal(rpc_backend.api.post("/evaluations", json=body)) == (409, "budget_exceeded")
        budget("judge_spend", 1e9)
        made(rpc_backend.api.post(f"/evaluations/{id}/resume"), 200)
        assert ended(rpc_backend, id)["status"] == "succeeded"
    assert spent(rpc_backend, id) == 40 * COST
