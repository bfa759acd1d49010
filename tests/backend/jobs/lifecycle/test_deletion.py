"""DELETE /api/v1/jobs/{id}: what goes with a job, what stays, and what refuses it."""

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


def test_a_job_goes_with_all_that_it_stored_and_its_usage_stays(open_lane: Backend) -> None:
    job, other = ended(open_lane), ended(open_lane)
    before, usage = rows_of(open_lane, other), open_lane.api.get("/usage").json()["totals"]
    assert {"adapter", "checkpoint", "resume_state", "event"} <= rows_of(open_lane, job).keys()
    with open_lane.add_key("editor") as editor:
        assert editor.delete(f"/jobs/{job}").status_code == 403
    assert open_lane.api.delete(f"/jobs/{job}").status_code == 204
    assert rows_of(open_lane, job) == {}
    assert rows_of(open_lane, other) == before
    usage_after = open_lane.api.get("/usage").json()["totals"]
    assert usage_after.pop("storage_bytes") < usage.pop("storage_bytes")
    assert usage_after == usage
    assert open_lane.api.get(f"/jobs/{job}").status_code == 404
    assert job not in [each["id"] for each in open_lane.api.get("/jobs").json()["data"]]
    assert refusal(open_lane.api.delete(f"/jobs/{job}")) == (404, "job_not_found")


def test_a_job_that_others_need_or_that_runs_is_not_deleted(open_lane: Backend) -> None:
    running, _ = trained(open_lane)
    assert refusal(open_lane.api.delete(f"/jobs/{running}")) == (409, "job_not_ended")
    job = ended(open_lane)
    body = {"step": 4, "set": {"limits.steps": 12}}
    fork = open_lane.api.post(f"/jobs/{job}/fork", json=body).json()["id"]
    assert refusal(open_lane.api.delete(f"/jobs/{job}")) == (409, "job_has_forks")
    open_lane.api.post(f"/jobs/{fork}/cancel")
    assert open_lane.api.delete(f"/jobs/{fork}").status_code == 204
    deployed = open_lane.api.post(
        "/deployments", json={"name": "of-a-job", "adapter": open_lane.job(job)["adapter"]}
    )
    assert deployed.status_code == 201, deployed.text
    assert refusal(open_lane.api.delete(f"/jobs/{job}")) == (409, "job_deployed")
    assert open_lane.api.get(f"/jobs/{job}").status_code == 200
