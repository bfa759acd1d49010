"""Golden cases over HTTP: stored with a reward, run on request, and a gate for jobs."""

from typing import Any

import pytest

from tests.backend.server import Backend, refused

SOURCE = "def grade(sample, item):\n    return 1.0 if sample['output_text'] == item['answer'] else 0.0\n"


def right(payload: dict[str, Any]) -> dict[str, Any]:
    """A worker whose sandbox says what SOURCE would."""
    results = []
    for row in payload["rows"]:
        value = 1.0 if row["completion"] == row["item"].get("answer") else 0.0
        results.append({"name": payload["name"], "status": "ok", "value": value, "wall_ms": 1.0})
    return {"jail": "L", "results": results, "load_error": None}


def case(completion: str, note: str | None = None, **expect: Any) -> dict[str, Any]:
    return {
        "item": {"answer": "4"},
        "prompt": "2 + 2?",
        "completion": completion,
        "expect": expect,
        "note": note,
    }


@pytest.fixture
def reward(backend: Backend) -> str:
    with backend.rpc_worker():
        body = {"name": "exact", "source": SOURCE}
        return str(backend.api.post("/rewards", json=body).json()["id"])


def test_cases_are_stored_in_order_and_deleted(backend: Backend, reward: str) -> None:
    path = f"/rewards/{reward}/golden-cases"
    origin = {"job": "ftjob-1", "split": "train", "step": 3, "prompt_no": 0, "sample_no": 2}
    body = {"cases": [case("4", "the answer", value=1), case("5", value=0) | {"origin": origin}]}
    created = backend.api.post(path, json=body)
    assert created.status_code == 201, created.text
    listed = backend.api.get(path).json()["data"]
    assert [case["completion"] for case in listed] == ["4", "5"]
    assert (listed[0]["note"], listed[1]["origin"]) == ("the answer", origin)
    assert backend.api.delete(f"{path}/{listed[0]['id']}").status_code == 204
    assert [case["id"] for case in backend.api.get(path).json()["data"]] == [listed[1]["id"]]
    assert backend.api.delete(f"{path}/{listed[0]['id']}").json()["error"]["code"] == "golden_case_not_found"


@pytest.mark.parametrize("expect", [{}, {"value": 1, "most": 2}, {"value": "much"}, {"least": 2, "most": 1}])
def test_an_expectation_that_says_nothing_is_refused(
    backend: Backend, reward: str, expect: dict[str, Any]
) -> None:
    path = f"/rewards/{reward}/golden-cases"
    response = backend.api.post(path, json={"cases": [case("4", value=1), case("4", **expect)]})
    assert response.status_code == 422
    assert response.json()["error"]["param"].startswith("cases[1].expect")
    assert backend.api.get(path).json()["data"] == [], "nothing half-stored"


def test_a_run_reports_the_outcome_of_every_case(backend: Backend, reward: str) -> None:
    path = f"/rewards/{reward}/golden-cases"
    cases = [case("4", value=1), case("five", most=0.5), case("4", above="5"), case("5", least=0.5)]
    ids = [case["id"] for case in backend.api.post(path, json={"cases": cases}).json()["data"]]
    with backend.rpc_worker(score=right):
        run = backend.api.post(f"{path}/run", json={}).json()
    assert (run["passed"], run["revision"], run["jail"]) == (False, 1, "L")
    assert [(result["case"], result["outcome"]["passed"]) for result in run["results"]] == list(
        zip(ids, [True, True, True, False], strict=True)
    )
    assert run["results"][3]["outcome"]["message"] == "It got 0 instead of at least 0.5."


def test_code_that_is_not_stored_can_be_checked(backend: Backend, reward: str) -> None:
    path = f"/rewards/{reward}/golden-cases"
    backend.api.post(path, json={"cases": [case("4", value=1)]})
    sources: list[str] = []

    def remember(payload: dict[str, Any]) -> dict[str, Any]:
        sources.append(payload["source"])
        return right(payload)

    with backend.rpc_worker(score=remember):
        run = backend.api.post(f"{path}/run", json={"source": "def grade(sample, item): ..."}).json()
    assert (sources, run["revision"]) == (["def grade(sample, item): ..."], None)


@pytest.mark.parametrize(
    ("endpoint", "environment"),
    [("/jobs", "single_turn"), ("/preflights", "single_turn"), ("/jobs", "tools"), ("/jobs", "agent")],
)
def test_a_job_starts_only_if_its_stored_rewards_pass(
    backend: Backend, reward: str, endpoint: str, environment: str
) -> None:
    path = f"/rewards/{reward}/golden-cases"
    backend.api.post(path, json={"cases": [case("4", value=1), case("5", value=1)]})
    spec = {"rewards": [{"name": "exact", "reward": reward}], "environment": {"type": environment}}
    with backend.rpc_worker(score=right):
        before = backend.count_jobs()
        answer = backend.api.post(endpoint, json=backend.spec(**spec))
        error = refused(answer, "rewards[0]", "golden_cases_failed")
        assert "1 of its 2 golden cases" in error["message"]
        failed = backend.api.get(path).json()["data"][1]["id"]
        assert [item["code"] for item in error["errors"]] == [failed]
        assert backend.count_jobs() == before
        backend.api.delete(f"{path}/{failed}")
        assert backend.api.post(endpoint, json=backend.spec(**spec)).status_code == 201


def test_another_reward_s_cases_stay_its_own(backend: Backend, reward: str) -> None:
    backend.api.post(f"/rewards/{reward}/golden-cases", json={"cases": [case("4", value=1)]})
    assert backend.api.get("/rewards/rew_none/golden-cases").status_code == 404
    with backend.rpc_worker():
        other = backend.api.post("/rewards", json={"name": "other", "source": SOURCE}).json()["id"]
    assert backend.api.get(f"/rewards/{other}/golden-cases").json()["data"] == []
