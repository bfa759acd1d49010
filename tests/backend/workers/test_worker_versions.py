"""Backend and workers of different releases: the worker API refuses them with a remedy."""

import httpx
import pytest

from reinforge.schemas.worker_api import PROTOCOL, PROTOCOL_HEADER, Register
from tests.backend.server import WORKER_TOKEN, Backend
from worker.backend_api.client import WorkerApi, WorkerApiRefused

ME = {"id": "wrk_other", "kind": "trainer", "hostname": "host", "version": "0"}


@pytest.mark.parametrize(
    ("spoken", "update"),
    [(None, "worker"), (PROTOCOL - 1, "worker"), (PROTOCOL + 1, "backend"), ("x", "worker")],
)
def test_another_release_gets_an_error_that_names_the_update(
    backend: Backend, spoken: object, update: str
) -> None:
    headers = {"authorization": f"Bearer {WORKER_TOKEN}"}
    if spoken is not None:
        headers[PROTOCOL_HEADER] = str(spoken)
    with httpx.Client(base_url=f"{backend.url}/worker/v1", headers=headers) as worker_api:
        requests = {
            "/workers": ME,
            "/jobs/claim": {"worker": ME["id"]},
            "/calls/next": {"worker": ME["id"], "kinds": []},
        }
        for path, body in requests.items():
            answer = worker_api.post(path, json=body)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (409, "worker_version"), path
            assert f"Update the {update}" in error["hint"]


def test_a_worker_of_this_release_is_let_in_and_says_its_version(backend: Backend) -> None:
    worker_api = WorkerApi(backend.url, WORKER_TOKEN)
    worker_api.register(Register.model_validate(ME))
    assert ME["id"] in [worker["id"] for worker in backend.api.get("/workers").json()["data"]]
    worker_api.close()


def test_the_worker_hears_why(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.backend_api.client.PROTOCOL", PROTOCOL + 1)
    worker_api = WorkerApi(backend.url, WORKER_TOKEN)
    with pytest.raises(WorkerApiRefused, match="version") as refused:
        worker_api.register(Register.model_validate(ME))
    assert "backend" in (refused.value.hint or "")
    worker_api.close()
