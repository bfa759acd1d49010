"""Stand-alone evaluations over HTTP: sampled and scored by a worker in batches, stopped, taken up again."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from backend.evaluations import retry, runner
from reinforge.errors import TooManyRequests
from tests.backend.evaluations.sampler import sampler
from tests.backend.server import REWARD, Backend, refused, wait_until


def ask(backend: Backend, rows: int = 20, per_prompt: int = 1, **fields: Any) -> dict[str, Any]:
    """`each`: so many neighbouring rows have the same prompt."""
    made = [{"prompt": f"{n // per_prompt}+1=", "answer": str(n // per_prompt + 1)} for n in range(rows)]
    body = {"kind": "stand_alone", "model": backend.add_model(), "dataset": backend.add_dataset(made),
            "source": REWARD}  # fmt: skip
    response = backend.api.post("/evaluations", json=body | fields)
    assert response.status_code == 201, response.text
    evaluation: dict[str, Any] = response.json()
    return evaluation


def evaluation_view(backend: Backend, id: str) -> dict[str, Any]:
    view: dict[str, Any] = backend.api.get(f"/evaluations/{id}").json()
    return view


def ended(backend: Backend, id: str) -> dict[str, Any]:
    wait_until(lambda: evaluation_view(backend, id)["status"] != "running", "the evaluation")
    return evaluation_view(backend, id)


def right_at_first(prompt: str, sample: int) -> str:
    """Sample 0 is right, the others are not."""
    return str(int(prompt.split("+")[0]) + 1) if sample == 0 else "no"


def test_every_row_is_sampled_and_scored_in_bounded_calls(backend: Backend) -> None:
    with sampler(backend, right_at_first, failing=frozenset({"3"})) as worker:
        started = ask(backend, rows=40, name="main", samples_per_row=2)
        assert (started["status"], started["total"], started["name"]) == ("running", 80, "main")
        done = ended(backend, started["id"])
        assert done["status"] == "succeeded", done["error"]
    assert max(len(payload["prompts"]) for payload in worker.sampled) <= 16
    assert len({payload["seed"] for payload in worker.sampled}) == len(
        worker.sampled
    )  # no batch repeats another's noise
    summary = done["summary"]
    assert (done["done"], summary["rows"], summary["completions"]) == (80, 39, 80)
    assert summary["error_share"] == pytest.approx(2 / 80)
    metrics = {name: metric["value"] for name, metric in summary["metrics"].items()}
    assert metrics == {"eval/reward": 0.5, "eval/pass_rate": 0.5, "eval/pass_any": 1.0}
    for kind, there in (("stand_alone", True), ("replay", False)):
        listed = backend.api.get("/evaluations", params={"kind": kind}).json()["data"]
        assert (started["id"] in [evaluation["id"] for evaluation in listed]) is there
    rows = backend.api.get(f"/evaluations/{started['id']}/rows").json()
    assert (rows["pass_above"], rows["data"][0], rows["data"][2]) == (
        0.5,
        {"row": 0, "rewards": [1.0, 0.0], "prompt": "0+1=", "answer": "1"},
        {"row": 2, "rewards": [None, None], "prompt": "2+1=", "answer": "3"},
    )
    [first, second] = backend.api.get(f"/evaluations/{started['id']}/completions", params={"row": 2}).json()[
        "data"
    ]
    assert (first["text"], first["result"]["status"], second["sample"]) == ("3", "error", 1)
    listed = backend.api.get("/evaluations", params={"name": "main", "status": "succeeded"}).json()["data"]
    assert [evaluation["id"] for evaluation in listed] == [started["id"]]


def test_it_says_which_rows_and_which_reward_by_content(backend: Backend) -> None:
    with backend.rpc_worker():
        stored = backend.api.post("/rewards", json={"name": "r", "source": REWARD}).json()
    with sampler(backend, right_at_first):
        bare = ask(backend, rows=2)
        named = ask(backend, rows=2, reward=stored["id"], source=None, entry="grade")
        dataset = backend.api.get(f"/datasets/{bare['dataset']}").json()
        for started in (bare, named):
            ended(backend, started["id"])
    code = hashlib.sha256(REWARD.encode()).hexdigest()
    assert (bare["dataset_sha256"], bare["reward_sha256"], bare["entry"]) == (dataset["sha256"], code, None)
    assert (named["dataset_sha256"], named["reward_sha256"], named["entry"]) == (
        dataset["sha256"],
        code,
        "grade",
    )


def test_one_that_is_let_go_in_the_middle_goes_on_behind_its_last_batch(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "ADOPT_SECONDS", 0.05)
    with Backend(database_url, tmp_path / "home") as first, sampler(first, right_at_first) as worker:
        worker.gate = type(worker.gate)(2)
        id = ask(first, rows=40, samples_per_row=2)["id"]
        wait_until(lambda: evaluation_view(first, id)["done"] == 64, "two batches")
    with Backend(database_url, tmp_path / "home") as second, sampler(second, right_at_first) as worker:
        done = ended(second, id)
    assert (done["status"], done["done"], done["summary"]["completions"]) == ("succeeded", 80, 80)
    assert [len(payload["prompts"]) for payload in worker.sampled] == [8]


def test_rows_are_sampled_with_their_tools(backend: Backend) -> None:
    tool = {"type": "function", "function": {"name": "add"}}
    rows = [{"prompt": "1+1=", "answer": "2", "tools": [{"name": "add"}]}, {"prompt": "2+1=", "answer": "3"}]
    with sampler(backend, right_at_first) as worker:
        started = ask(backend, dataset=backend.add_dataset(rows))
        assert ended(backend, started["id"])["status"] == "succeeded"
        assert [payload["row_tools"] for payload in worker.sampled] == [[[tool], None]]
        ended(backend, ask(backend, rows=2)["id"])
    assert "row_tools" not in worker.sampled[-1]


def _samplings(backend: Backend) -> set[str]:
    """Calls that are kept; other tests with this database may have left some."""
    return {row[0] for row in backend.sql("SELECT id FROM call WHERE kind = 'sample'")}


def test_cancelled_and_resumed(backend: Backend) -> None:
    with sampler(backend, right_at_first) as worker:
        others = _samplings(backend)
        worker.gate = type(worker.gate)(1)
        id = ask(backend, rows=20, samples_per_row=4)["id"]
        wait_until(lambda: evaluation_view(backend, id)["done"] == 64, "a batch")
        assert backend.api.post(f"/evaluations/{id}/cancel").json()["status"] == "cancelled"
        worker.gate.release(100)
        wait_until(lambda: _samplings(backend) <= others, "the call to be dropped")
        assert evaluation_view(backend, id)["done"] == 64
        assert backend.api.post(f"/evaluations/{id}/resume").json()["status"] == "running"
        assert ended(backend, id)["done"] == 80
    again = backend.api.post(f"/evaluations/{id}/resume")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "evaluation_not_resumable")


def test_without_a_worker_it_fails_and_can_go_on(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.evaluations.retry.FIRST_PAUSE_SECONDS", 0.001)
    id = ask(backend, rows=2)["id"]
    failed = ended(backend, id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "no_worker")
    with sampler(backend, right_at_first):
        backend.api.post(f"/evaluations/{id}/resume")
        assert ended(backend, id)["status"] == "succeeded"


@pytest.mark.parametrize("split_by", ["row", "prompt"])
def test_the_held_out_rows_are_those_of_a_job(backend: Backend, split_by: str) -> None:
    how = {"held_out_rows": 6, "seed": 7, "split_by": split_by}
    with sampler(backend, right_at_first):
        started = ask(backend, rows=40, per_prompt=2, split="held_out", samples_per_row=1, **how)
        assert ended(backend, started["id"])["status"] == "succeeded"
    split = backend.api.get(f"/datasets/{started['dataset']}/split", params=how).json()
    rows = [row["row"] for row in backend.api.get(f"/evaluations/{started['id']}/rows").json()["data"]]
    assert rows == split["held_out_rows"]
    assert started["total"] == len(rows) == 6
    together = {row ^ 1 for row in rows} == set(rows)
    assert together is (split_by == "prompt")


def test_errors_are_reported_before_it_starts(backend: Backend) -> None:
    model, dataset = backend.add_model(), backend.add_dataset()
    body = {"kind": "stand_alone", "model": model, "dataset": dataset, "source": REWARD}
    post = backend.api.post
    refused(post("/evaluations", json=body | {"dataset": "file-none"}), "dataset", "dataset_not_found")
    refused(post("/evaluations", json=body | {"model": "none"}), "model", "model_not_found")
    missing = {"model": None, "checkpoint": "ftckpt_none"}
    refused(post("/evaluations", json=body | missing), "checkpoint", "checkpoint_not_found")
    missing = {"model": None, "adapter": "adp_none"}
    refused(post("/evaluations", json=body | missing), "adapter", "adapter_not_found")
    refused(
        post("/evaluations", json=body | {"source": None, "reward": "rew_none"}), "reward", "reward_not_found"
    )
    columns = backend.add_dataset([{"question": "q"}])
    assert post("/evaluations", json=body | {"dataset": columns}).json()["error"]["code"] == "missing_prompt"
    for wrong in ({"model": None}, {"source": None}, {"rows": 5000, "samples_per_row": 16}, {"kind": "new"}):
        assert post("/evaluations", json=body | wrong).status_code == 422, wrong


def test_its_calls_are_its_projects(backend: Backend) -> None:
    """So projects take turns with them, too, and they outlive the request that has started the evaluation."""
    project = backend.sql("SELECT id FROM project")[0][0]
    with sampler(backend, right_at_first) as worker:
        worker.gate = type(worker.gate)(0)
        before = _samplings(backend)
        started = ask(backend, rows=2)["id"]
        wait_until(lambda: _samplings(backend) - before, "the sampling")
        (call,) = _samplings(backend) - before
        assert backend.sql("SELECT project_id FROM call WHERE id = %s", call) == [(project,)]
        worker.gate.release(10)
        assert ended(backend, started)["status"] == "succeeded"


def test_one_waits_while_its_project_has_no_room_for_calls(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = backend.app.state.calls
    monkeypatch.setattr("backend.evaluations.retry.AGAIN_SECONDS", 0.05)
    refusals: list[None] = []

    async def full(*_: Any) -> None:
        refusals.append(None)
        raise TooManyRequests("full", code="too_many_calls")

    with sampler(backend, right_at_first) as worker:
        worker.gate = type(worker.gate)(0)
        before = _samplings(backend)
        started = ask(backend, rows=2)["id"]
        wait_until(lambda: _samplings(backend) - before, "the sampling")
        with monkeypatch.context() as patch:
            patch.setattr(type(calls), "_check_waiting", full)
            worker.gate.release(10)
            wait_until(lambda: len(refusals) > retry.TRIES, "more refusals than tries")
            assert evaluation_view(backend, started)["status"] == "running"
        assert ended(backend, started)["status"] == "succeeded"
