"""`optimizer.learning_rate: auto` on a server: resolved when a job is created, and a number ever after."""

from collections.abc import Iterator
from typing import Any

import pytest

from reinforge.base_models.learning_rate import auto_learning_rate
from tests.backend.server import Backend, agree_render, refused

AUTO = auto_learning_rate(128)
"""Of the tests' model, whose hidden size is 128."""


@pytest.fixture
def served(backend: Backend) -> Iterator[Backend]:
    """With a worker that answers for as long as the test runs: others here have answers of their own."""
    with backend.rpc_worker():
        yield backend


def rate(job: dict[str, Any]) -> Any:
    return job["resolved_spec"]["optimizer"]["learning_rate"]


def wide(payload: dict[str, Any]) -> dict[str, Any]:
    return agree_render(payload) | {"hidden_size": 256}


def silent(payload: dict[str, Any]) -> dict[str, Any]:
    return agree_render(payload) | {"hidden_size": None}


@pytest.mark.parametrize("optimizer", [None, {}, {"learning_rate": "auto"}])
def test_a_job_keeps_what_was_sent_and_trains_with_the_number(
    served: Backend, optimizer: dict[str, Any] | None
) -> None:
    changes = {} if optimizer is None else {"optimizer": optimizer}
    spec = served.spec(**changes)
    job = served.api.post("/jobs", json=spec).json()
    assert job["spec"] == spec
    assert rate(job) == AUTO
    claimed = served.claim(job["id"]).claimed
    assert claimed["spec"]["optimizer"]["learning_rate"] == AUTO
    assert claimed["spec"]["optimizer"]["initial_learning_rate"] == 3 * AUTO


def test_a_number_is_taken_as_it_is(served: Backend) -> None:
    job = served.job(served.create_job(optimizer={"learning_rate": 1e-5}))
    assert rate(job) == 1e-5


def test_settings_and_forks_work_on_the_number(served: Backend) -> None:
    job = served.create_job(limits={"steps": 9})
    (setting,) = [
        setting
        for setting in served.api.get(f"/jobs/{job}/settings").json()["data"]
        if setting["setting"] == "optimizer.learning_rate"
    ]
    assert (setting["value"], setting["created_with"]) == (AUTO, AUTO)
    trainer = served.claim(job)
    trainer.start(0, 9)
    change = {"type": "setting", "setting": "optimizer.learning_rate", "value": 1e-4}
    made = served.api.post(f"/jobs/{job}/changes", json=change).json()
    assert (made["before"], made["value"]) == (AUTO, 1e-4)
    trainer.send({"kind": "change_applied", "change": made["id"], "step": 2})
    trainer.checkpoint(3)

    def fork(**set: Any) -> tuple[Any, Any]:
        optimizer = served.api.post(f"/jobs/{job}/fork", json={"step": 3, "set": set}).json()[
            "resolved_spec"
        ]["optimizer"]
        return optimizer["learning_rate"], optimizer["initial_learning_rate"]

    assert fork() == (1e-4, None), "a fork goes on with what was at work"
    assert fork(**{"optimizer.learning_rate": "auto"}) == (AUTO, 3 * AUTO)
    assert fork(**{"optimizer.learning_rate": 2e-4}) == (2e-4, None)


def test_a_model_that_was_added_before_its_size_was_stored(backend: Backend) -> None:
    old = backend.spec(model=backend.add_model("old", hidden_size=None))
    with backend.rpc_worker(render=wide):
        assert rate(backend.api.post("/jobs", json=old).json()) == auto_learning_rate(256)
    with backend.rpc_worker(render=silent):
        before = backend.count_jobs()
        error = refused(backend.api.post("/jobs", json=old), "optimizer.learning_rate", "hidden_size_unknown")
        assert "Set optimizer.learning_rate to a number" in error["hint"]
        assert backend.count_jobs() == before
        report = backend.api.post("/jobs/check", json=old).json()
        assert [problem["code"] for problem in report["problems"]] == ["hidden_size_unknown"]
        number = old | {"optimizer": {"learning_rate": 1e-4}}
        assert rate(backend.api.post("/jobs", json=number).json()) == 1e-4
    quick = backend.api.post("/jobs/check?quick=true", json=old).json()
    assert (quick["ok"], quick["spec"]["optimizer"]["learning_rate"]) == (True, "auto")


def test_the_form_and_the_list_of_models_show_the_number_with_its_reason(served: Backend) -> None:
    check = served.api.post("/jobs/check?quick=true", json=served.spec()).json()
    assert check["spec"]["optimizer"]["learning_rate"] == AUTO
    small = served.api.get(f"/models/{served.add_model()}").json()["auto_learning_rate"]
    assert (small["value"], small["measured"]) == (AUTO, True)
    large = served.api.get(f"/models/{served.add_model('large', hidden_size=8192)}").json()
    assert (large["auto_learning_rate"]["value"], large["auto_learning_rate"]["measured"]) == (2e-5, False)
    assert "not measured at this size" in large["auto_learning_rate"]["reason"]
    unknown = served.add_model("unknown", hidden_size=None)
    assert served.api.get(f"/models/{unknown}").json()["auto_learning_rate"] is None
