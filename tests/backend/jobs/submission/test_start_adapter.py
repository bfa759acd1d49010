"""Jobs that start from an adapter or a checkpoint."""

from typing import Any

import pytest

from tests.backend.server import Backend, refused

LORA = {"rank": 4, "alpha": 6.0, "targets": ["v_proj", "q_proj"]}


@pytest.fixture(scope="module")
def source(rpc_backend: Backend) -> dict[str, Any]:
    """A succeeded job with checkpoints of steps 1 and 2."""
    id = rpc_backend.create_job(adapter=LORA, limits={"steps": 2}, name="source")
    trainer = rpc_backend.claim(id)
    trainer.start(0, 2)
    trainer.evaluate(0, 0.1)
    for step in (1, 2):
        trainer.step(step)
        trainer.checkpoint(step, step / 10, final=step == 2)
    trainer.end("succeeded", step=2)
    return rpc_backend.job(id)


@pytest.fixture
def checkpoint(rpc_backend: Backend, source: dict[str, Any]) -> dict[str, Any]:
    """That of step 1."""
    data: list[dict[str, Any]] = rpc_backend.api.get(f"/jobs/{source['id']}/checkpoints").json()["data"]
    return next(item for item in data if item["step"] == 1)


def test_a_job_starts_from_an_adapter(rpc_backend: Backend, source: dict[str, Any]) -> None:
    spec = rpc_backend.spec(model=source["adapter"])
    answer = rpc_backend.api.post("/jobs", json=spec)
    assert answer.status_code == 201, answer.text
    job = answer.json()
    assert (job["model"], job["spec"]["model"]) == ("tiny", source["adapter"])
    assert job["resolved_spec"]["model"] == "tiny"
    assert job["resolved_spec"]["adapter"] == {
        "type": "lora", "dropout": 0, "start": source["adapter"], **LORA,
    }  # fmt: skip
    assert job["started_from"] == {"id": source["adapter"], "name": "source", "job": source["id"], "step": 2}
    assert job["name"] == "tiny on sums, from source"
    claimed = rpc_backend.claim(job["id"]).claimed
    [(sha256, size)] = rpc_backend.sql("SELECT sha256, bytes FROM adapter WHERE id = %s", source["adapter"])
    assert claimed["start"] == {"sha256": sha256, "bytes": size}
    assert (claimed["resume"], claimed["spec"]["model"]) == (None, "tiny")
    with rpc_backend.client(claimed["job_token"], "/worker/v1") as worker:
        assert worker.get(f"/blobs/{sha256}").status_code == 200


def test_a_resolved_specification_creates_the_same_job(
    rpc_backend: Backend, checkpoint: dict[str, Any]
) -> None:
    job = rpc_backend.job(rpc_backend.create_job(model=checkpoint["id"], name="first"))
    again = rpc_backend.api.post("/jobs", json=job["resolved_spec"]).json()
    assert again["resolved_spec"] == job["resolved_spec"]
    assert again["started_from"] == job["started_from"]
    assert again["started_from"]["step"] == 1


def test_the_check_of_the_form_resolves_it(rpc_backend: Backend, source: dict[str, Any]) -> None:
    check = rpc_backend.api.post("/jobs/check", json=rpc_backend.spec(model=source["adapter"])).json()
    assert (check["ok"], check["problems"], check["spec"]["adapter"]["rank"]) == (True, [], 4)


@pytest.mark.parametrize(
    ("changes", "param", "code"),
    [
        ({"model": "adp_none"}, "model", "adapter_not_found"),
        ({"model": "ftckpt_none"}, "model", "checkpoint_not_found"),
        ({"adapter": {"start": "adp_none"}}, "adapter.start", "adapter_not_found"),
        ({"adapter": {"start": "tiny"}}, "adapter.start", "adapter_not_found"),
        ({"adapter": {"start": "OWN", "rank": 8}}, "adapter.rank", "adapter_conflict"),
        ({"adapter": {"start": "OWN", "alpha": 8}}, "adapter.alpha", "adapter_conflict"),
        ({"adapter": {"start": "OWN", "targets": ["q_proj"]}}, "adapter.targets", "adapter_conflict"),
        ({"model": "OTHER", "adapter": {"start": "OWN"}}, "adapter.start", "adapter_of_another_model"),
    ],
)
def test_what_does_not_fit_is_one_error(
    rpc_backend: Backend, source: dict[str, Any], changes: dict[str, Any], param: str, code: str
) -> None:
    own = {"OWN": source["adapter"], "OTHER": rpc_backend.add_model("other")}
    text = {key: own.get(value, value) if isinstance(value, str) else value for key, value in changes.items()}
    if "adapter" in changes:
        text["adapter"] = {key: own.get(str(value), value) for key, value in changes["adapter"].items()}
    before = rpc_backend.count_jobs()
    refused(rpc_backend.api.post("/jobs", json=rpc_backend.spec(**text)), param, code)
    assert rpc_backend.count_jobs() == before


def test_other_projects_adapters_do_not_exist(
    rpc_backend: Backend, source: dict[str, Any], checkpoint: dict[str, Any]
) -> None:
    rpc_backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_guest', 'guest', now()) ON CONFLICT DO NOTHING"
    )
    with rpc_backend.add_key("owner", project="guest") as guest:
        for id, missing in ((source["adapter"], "adp_none"), (checkpoint["id"], "ftckpt_none")):
            errors = [
                guest.post("/jobs/check?quick=true", json=rpc_backend.spec(model=model)).json()["problems"][0]
                for model in (id, missing)
            ]
            texts = [
                error["message"].replace(model, "X")
                for error, model in zip(errors, (id, missing), strict=True)
            ]
            assert texts[0] == texts[1]
            assert errors[0]["code"] == errors[1]["code"]


def test_a_checkpoint_that_was_shared_can_be_the_start(
    rpc_backend: Backend, checkpoint: dict[str, Any]
) -> None:
    rpc_backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_friend', 'friend', now()) ON CONFLICT DO NOTHING"
    )
    rpc_backend.sql(
        "INSERT INTO checkpoint_permission (id, checkpoint_id, project_id, created_at)"
        " VALUES ('cp_1', %s, 'proj_friend', now())", checkpoint["id"],
    )  # fmt: skip
    with rpc_backend.add_key("owner", project="friend") as friend:
        check = friend.post("/jobs/check?quick=true", json=rpc_backend.spec(model=checkpoint["id"])).json()
    assert "model" not in [problem["param"] for problem in check["problems"]]


def test_changed_model_files_are_refused(rpc_backend: Backend, source: dict[str, Any]) -> None:
    rpc_backend.sql("UPDATE base_model SET sha256 = %s WHERE id = 'tiny'", "cd" * 32)
    try:
        answer = rpc_backend.api.post("/jobs", json=rpc_backend.spec(model=source["adapter"]))
    finally:
        rpc_backend.sql("UPDATE base_model SET sha256 = %s WHERE id = 'tiny'", "ab" * 32)
    refused(answer, "model", "model_changed")


def test_a_fork_with_other_data_keeps_the_start_of_a_deleted_adapter(
    rpc_backend: Backend, source: dict[str, Any]
) -> None:
    id = rpc_backend.create_job(model=source["adapter"])
    trainer = rpc_backend.claim(id)
    trainer.start(0, 3)
    trainer.step(1)
    trainer.checkpoint(1)
    trainer.end("failed", step=1)
    rpc_backend.sql("UPDATE adapter SET deleted_at = now() WHERE id = %s", source["adapter"])
    try:
        refused(
            rpc_backend.api.post("/jobs", json=rpc_backend.spec(model=source["adapter"])),
            "model",
            "adapter_not_found",
        )
        other = rpc_backend.add_dataset()
        fork = rpc_backend.api.post(f"/jobs/{id}/fork", json={"set": {"data.dataset": other}})
        assert fork.status_code == 201, fork.text
        claimed = rpc_backend.claim(fork.json()["id"]).claimed
    finally:
        rpc_backend.sql("UPDATE adapter SET deleted_at = NULL WHERE id = %s", source["adapter"])
    assert claimed["start"] == trainer.claimed["start"]
    assert (claimed["spec"]["data"]["dataset"], claimed["fork"]["step"]) == (other, 1)


def test_a_pre_flight_measures_the_adapter(rpc_backend: Backend, source: dict[str, Any]) -> None:
    answer = rpc_backend.api.post("/preflights", json=rpc_backend.spec(model=source["adapter"]))
    assert answer.status_code == 201, answer.text
    claimed = rpc_backend.claim(answer.json()["id"]).claimed
    assert claimed["start"] is not None
