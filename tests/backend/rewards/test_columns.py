"""A reward and the data's columns, at every door through which a dataset meets a reward; the sandbox is real.

The data's answers are in a column `result`, which rewards read as `item.answer` once it is declared.
"""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from reinforge.reward_library import ready_reward
from tests.backend.evaluations.sampler import sampler
from tests.backend.server import OWNER_KEY, Backend, RpcWorker, agree_inspect, agree_render, wait_until

ROWS = [{"question": f"{n}+1", "result": str(n + 1)} for n in range(12)]
PROMPTS = {"prompt": "question"}
DECLARED = PROMPTS | {"answer": "result"}
EXACT = "def grade(sample, item):\n    return float(sample['output_text'].strip() == item['answer'])\n"
CHECK = {
    "type": "string_check", "name": "same", "operation": "eq",
    "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}",
}  # fmt: skip
REWARDS: dict[str, dict[str, Any]] = {
    "ready": {"type": "python", "name": "numeric", "source": ready_reward("numeric").source},
    "python": {"type": "python", "name": "exact", "source": EXACT},
    "trl": {"type": "python", "name": "listed", "source": "def f(completions, answer): return [1.0] * len(answer)\n"},
    "template": CHECK,
    "python grader": {"type": "multi", "name": "both", "graders": {"code": {"type": "python", "source": EXACT}},
                      "calculate_output": "code"},
}  # fmt: skip


@pytest.fixture(scope="module")
def doors(live_backend: Backend) -> Iterator[Backend]:
    """A worker with a sandbox, and one that renders prompts."""
    rendering = RpcWorker(live_backend, {"render": agree_render, "inspect_model": agree_inspect})
    rendering.start()
    yield live_backend
    rendering.stop()


def job(backend: Backend, dataset: str, reward: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    return backend.spec(data={"dataset": dataset, "columns": columns}, rewards=[reward])


def create_job(backend: Backend, *request: Any) -> httpx.Response:
    return backend.api.post("/jobs", json=job(backend, *request))


def create_preflight(backend: Backend, *request: Any) -> httpx.Response:
    return backend.api.post("/preflights", json=job(backend, *request))


def check_job(backend: Backend, *request: Any) -> httpx.Response:
    """A dry run: its problem in the place of a refusal."""
    response = backend.api.post("/jobs/check", json=job(backend, *request))
    problems = response.json()["problems"]
    return httpx.Response(422, json={"error": problems[0]}) if problems else response


def create_over_openai(
    backend: Backend, dataset: str, reward: dict[str, Any], columns: dict[str, str]
) -> httpx.Response:
    grader = {"name": reward["name"], **reward} if reward["type"] != "multi" else reward
    method = {"type": "reinforcement", "reinforcement": {"grader": grader}}
    method["reinforcement"]["hyperparameters"] = {
        "columns": columns,
        "batch_size": 4,
        "max_completion_tokens": 16,
    }  # type: ignore[index]
    body = {"model": backend.add_model(), "training_file": dataset, "method": method}
    with backend.client(OWNER_KEY, "/v1") as wire:
        return wire.post("/fine_tuning/jobs", json=body)


def source_of(backend: Backend, reward: dict[str, Any]) -> dict[str, Any]:
    """A stored reward's fields, as requests to store one have them."""
    plain = {key: value for key, value in reward.items() if key != "weight"}
    return {"source": reward["source"]} if reward["type"] == "python" else {"grader": plain}


def evaluate(
    backend: Backend, dataset: str, reward: dict[str, Any], columns: dict[str, str]
) -> httpx.Response:
    """With a stored reward."""
    made = backend.api.post("/rewards", json={"name": reward["name"], **source_of(backend, reward)})
    assert made.status_code == 201, made.text
    body = {"kind": "stand_alone", "model": backend.add_model(), "dataset": dataset, "rows": 3}
    body |= {"reward": made.json()["id"], "prompt_view": {"columns": columns}}
    return backend.api.post("/evaluations", json=body)


Entrance = Callable[[Backend, str, dict[str, Any], dict[str, str]], httpx.Response]
DOORS: dict[str, tuple[Entrance, str, str]] = {
    "job": (create_job, "rewards[0]", "data.columns.answer: result"),
    "dry run": (check_job, "rewards[0]", "data.columns.answer: result"),
    "pre-flight": (create_preflight, "rewards[0]", "data.columns.answer: result"),
    "openai": (
        create_over_openai,
        "method.reinforcement.grader",
        "method.reinforcement.hyperparameters.columns.answer: result",
    ),
    "evaluation": (evaluate, "reward", "prompt_view.columns.answer: result"),
}


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("kind", REWARDS)
def test_a_column_that_the_data_lacks_is_refused_until_it_is_declared(
    doors: Backend, name: str, kind: str
) -> None:
    entrance, param, declare = DOORS[name]
    if name == "openai" and REWARDS[kind]["type"] == "python" and kind != "python":
        pytest.skip("OpenAI's python graders define grade(sample, item)")
    dataset = doors.add_dataset(ROWS)
    before = doors.count_jobs()
    answer = entrance(doors, dataset, REWARDS[kind], PROMPTS)
    error = answer.json()["error"]
    status = 400 if name == "openai" else 422
    assert (answer.status_code, error["code"], error["param"]) == (status, "unknown_column", param), (
        answer.text
    )
    assert "reads item.answer" in error["message"]
    assert "sums" in error["message"]
    for part in (declare, "rename it to answer", "The data has: question, result."):
        assert part in error["hint"]
    assert doors.count_jobs() == before, "nothing is stored"

    accepted = entrance(doors, dataset, REWARDS[kind], DECLARED)
    assert accepted.status_code in (200, 201), accepted.text


def test_another_column_than_the_answer_is_named_with_those_that_exist(doors: Backend) -> None:
    source = "def grade(sample, item):\n    return float(sample['output_text'] == item['total'])\n"
    reward = {"type": "python", "name": "sums", "source": source}
    error = create_job(doors, doors.add_dataset(ROWS), reward, DECLARED).json()["error"]
    assert (error["code"], error["param"]) == ("unknown_column", "rewards[0]")
    assert "reads item.total" in error["message"]
    assert error["hint"] == (
        "Rename a column of the data to total, or change the reward. The data has: question, result."
    )


def test_a_running_job_does_not_change_to_a_revision_that_reads_another_column(doors: Backend) -> None:
    def source(column: str) -> str:
        return f"def grade(sample, item):\n    return float(sample['output_text'] == item['{column}'])\n"

    stored = doors.api.post("/rewards", json={"name": "changing", "source": source("result")}).json()["id"]
    reward = {"type": "python", "name": "right", "reward": stored}
    running = create_job(doors, doors.add_dataset(ROWS), reward, PROMPTS).json()["id"]
    revisions = f"/rewards/{stored}/revisions"
    for column, status in (("total", 422), ("question", 201)):
        doors.api.post(revisions, headers={"if-match": "*"}, json={"source": source(column)})
        answer = doors.api.post(f"/jobs/{running}/changes", json={})
        assert answer.status_code == status, answer.text
        if status == 422:
            assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
                "unknown_column",
                "revision",
            )


def test_held_out_data_needs_the_column_as_well(doors: Backend) -> None:
    spec = job(doors, doors.add_dataset([{"prompt": "1", "answer": "1"}] * 9), REWARDS["python"], {})
    spec["data"]["held_out"] = doors.add_dataset([{"prompt": "1", "total": "1"}])
    error = doors.api.post("/jobs", json=spec).json()["error"]
    assert (error["code"], error["param"]) == ("unknown_column", "rewards[0]")


def test_a_dry_run_warns_of_an_answer_column_that_the_declared_one_hides(doors: Backend) -> None:
    rows = [row | {"answer": f"so it is {row['result']}"} for row in ROWS]
    spec = job(doors, doors.add_dataset(rows), REWARDS["python"], DECLARED)
    report = doors.api.post("/jobs/check", json=spec).json()
    assert report["ok"]
    assert any('read "result" as item.answer' in warning for warning in report["warnings"])


@pytest.mark.parametrize("kind", ["ready", "trl", "template"])
def test_an_evaluation_scores_by_the_declared_column(doors: Backend, kind: str) -> None:
    """Right answers to every second row; a column `answer` besides says something else."""
    rows = [row | {"answer": "not this"} for row in ROWS]
    tagged = kind == "ready"

    def answer(prompt: str, sample: int) -> str:
        n = int(prompt.split("+")[0])
        text = str(n + 1) if n % 2 == 0 else "no"
        return f"<answer>{text}</answer>" if tagged else text

    with sampler(doors, answer, kinds=("sample",)):
        response = evaluate(doors, doors.add_dataset(rows), REWARDS[kind], DECLARED)
        assert response.status_code == 201, response.text
        assert response.json()["prompt_view"] == {
            "columns": DECLARED | {"messages": None, "slice": None}, "prompt_template": None, "system_prompt": None,
        }  # fmt: skip
        id = response.json()["id"]
        wait_until(
            lambda: doors.api.get(f"/evaluations/{id}").json()["status"] != "running", "the evaluation"
        )
    done = doors.api.get(f"/evaluations/{id}").json()
    assert (done["status"], done["summary"]["error_share"]) == ("succeeded", 0.0), done["error"]
    scores = doors.api.get(f"/evaluations/{id}/rows").json()["data"]
    right = [1.0 if score["row"] % 2 == 0 or kind == "trl" else 0.0 for score in scores]
    assert [score["rewards"][0] for score in scores] == right
