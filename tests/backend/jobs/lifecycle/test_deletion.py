"""DELETE /api/v1/jobs/{id}: what is deleted, what stays, and refusals."""

from tests.backend.jobs.lifecycle.test_fork import trained
from tests.backend.people import refusal
from tests.backend.server import Backend


def ended(backend: Backend) -> str:
    """A job that has succeeded, with checkpoints, a resume state, a log and an adapter."""
    job, trainer = trained(backend)
    trainer.send({"kind": "log", "level": "info", "message": "a line", "step": 6})
    trainer.checkpoint(9, 1.0, final=True)
    trainer.end("succeeded")
    return job


def rows_of(backend: Backend, job: str) -> dict[str, int]:
    """Table → rows that name the job."""
    tables = backend.sql(
        "SELECT table_name FROM information_schema.columns WHERE column_name = 'job_id' AND table_schema = 'public'"
    )
    counts = {
        name: backend.sql(f"SELECT count(*) FROM {name} WHERE job_id = %s", job)[0][0] for (name,) in tables
    }
    return {name: count for name, count in counts.items() if count}


def test_a_job_goes_with_all_that_it_stored_and_its_usage_stays(rpc_backend: Backend) -> None:
    job, other = ended(rpc_backend), ended(rpc_backend)
    before, usage = rows_of(rpc_backend, other), rpc_backend.api.get("/usage").json()["totals"]
    assert {"adapter", "checkpoint", "resume_state", "event"} <= rows_of(rpc_backend, job).keys()
    with rpc_backend.add_key("editor") as editor:
        assert editor.delete(f"/jobs/{job}").status_code == 403
    assert rpc_backend.api.delete(f"/jobs/{job}").status_code == 204
    assert rows_of(rpc_backend, job) == {}
    assert rows_of(rpc_backend, other) == before
    usage_after = rpc_backend.api.get("/usage").json()["totals"]
    assert usage_after.pop("storage_bytes") < usage.pop("storage_bytes")
    assert usage_after == usage
    assert rpc_backend.api.get(f"/jobs/{job}").status_code == 404
    assert job not in [job_view["id"] for job_view in rpc_backend.api.get("/jobs").json()["data"]]
    assert refusal(rpc_backend.api.delete(f"/jobs/{job}")) == (404, "job_not_found")


def test_a_job_that_others_need_or_that_runs_is_not_deleted(rpc_backend: Backend) -> None:
    running, _ = trained(rpc_backend)
    assert refusal(rpc_backend.api.delete(f"/jobs/{running}")) == (409, "job_not_ended")
    job = ended(rpc_backend)
    body = {"step": 4, "set": {"limits.steps": 12}}
    fork = rpc_backend.api.post(f"/jobs/{job}/fork", json=body).json()["id"]
    assert refusal(rpc_backend.api.delete(f"/jobs/{job}")) == (409, "job_has_forks")
    rpc_backend.api.post(f"/jobs/{fork}/cancel")
    assert rpc_backend.api.delete(f"/jobs/{fork}").status_code == 204
    deployed = rpc_backend.api.post(
        "/deployments", json={"name": "of-a-job", "adapter": rpc_backend.job(job)["adapter"]}
    )
    assert deployed.status_code == 201, deployed.text
    assert refusal(rpc_backend.api.delete(f"/jobs/{job}")) == (409, "job_deployed")
    assert rpc_backend.api.get(f"/jobs/{job}").status_code == 200
