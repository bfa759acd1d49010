"""Blobs of the worker API: access by token."""

import hashlib
from typing import Any

import pytest

from tests.backend.server import Backend

pytestmark = pytest.mark.usefixtures("rpc_backend")


def test_a_damaged_blob_is_refused(backend: Backend) -> None:
    name = "1" * 64
    token = backend.claim(backend.create_job()).claimed["job_token"]
    with backend.client(token, "/worker/v1") as worker_api:
        refused = worker_api.put(f"/blobs/{name}", content=b"something else")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "blob_mismatch")
    assert backend.get_blob(name).status_code == 404


def test_a_blob_is_stored_once(backend: Backend) -> None:
    content = b"some bytes" * 1000
    sha256 = hashlib.sha256(content).hexdigest()
    token = backend.claim(backend.create_job()).claimed["job_token"]
    with backend.client(token, "/worker/v1") as worker_api:
        stored = [worker_api.put(f"/blobs/{sha256}", content=content).status_code for _ in range(2)]
    assert stored == [201, 200]
    assert backend.get_blob(sha256).content == content


@pytest.mark.parametrize(
    ("state", "seconds", "status"),
    [("taken", 60, 200), ("waiting", 60, 404), ("answered", 60, 404), ("taken", -1, 404)],
)
def test_the_shared_token_reads_what_a_call_under_way_names(
    backend: Backend, state: str, seconds: float, status: int
) -> None:
    sha256 = backend.add_object(b"weights to sample with", "checkpoint")
    other = backend.add_object(b"weights that nobody asks for", "checkpoint")
    before = backend.worker_api.get(f"/blobs/{sha256}")
    assert (before.status_code, before.json()["error"]["code"]) == (404, "blob_not_found")
    with backend.call_with(sha256, state, seconds):
        assert backend.worker_api.get(f"/blobs/{sha256}").status_code == status
        assert backend.worker_api.get(f"/blobs/{other}").status_code == 404
    assert backend.worker_api.get(f"/blobs/{sha256}").status_code == 404


def test_the_shared_token_reads_no_job_and_stores_nothing(backend: Backend) -> None:
    trainer = backend.claim(backend.create_job())
    assert backend.worker_api.get(f"/blobs/{trainer.claimed['dataset']['sha256']}").status_code == 404
    content = b"of nobody's job"
    name = hashlib.sha256(content).hexdigest()
    with backend.call_with(name):
        refused = backend.worker_api.put(f"/blobs/{name}", content=content)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "job_token_needed")
        assert backend.worker_api.get(f"/blobs/{name}").status_code == 404


def test_the_worker_api_needs_its_token(backend: Backend) -> None:
    for client in (backend.client(None, "/worker/v1"), backend.client("rf-test-owner-key", "/worker/v1")):
        refused = client.post("/jobs/claim", json={"worker": "wrk_test"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_worker_token")
    trainer = backend.claim(backend.create_job())
    stranger = backend.client("not-the-job-token", f"/worker/v1/jobs/{trainer.claimed['job']}")
    refused = stranger.post("/heartbeat", json={"attempt": 1})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "lease_lost")


def test_a_job_token_opens_the_blobs_of_its_job_and_no_others(backend: Backend) -> None:
    first, other = (
        backend.claim(backend.create_job()),
        backend.claim(backend.create_job(data=own_data(backend))),
    )
    with backend.client(first.claimed["job_token"], "/worker/v1") as worker_api:
        own = first.claimed["dataset"]["sha256"]
        assert worker_api.get(f"/blobs/{own}").status_code == 200
        content = b"an adapter"
        name = hashlib.sha256(content).hexdigest()
        assert (
            worker_api.put(f"/blobs/{name}", params={"kind": "checkpoint"}, content=content).status_code
            == 201
        )
        assert worker_api.get(f"/blobs/{name}").status_code == 404, "not of the job until a record says so"
        first.start()
        blob = {"sha256": name, "bytes": len(content)}
        first.send({"kind": "checkpoint_saved", "step": 1, "blob": blob, "held_out_reward": None})
        assert worker_api.get(f"/blobs/{name}").content == content
        theirs = worker_api.get(f"/blobs/{other.claimed['dataset']['sha256']}")
        assert (theirs.status_code, theirs.json()["error"]["code"]) == (404, "blob_not_found")
        for path in ("/jobs/claim", "/workers", "/calls/next"):
            assert worker_api.post(path, json={}).json()["error"]["code"] == "invalid_worker_token", path
        first.end("paused", reason="pause_requested")
        late = worker_api.get(f"/blobs/{own}")
        assert (late.status_code, late.json()["error"]["code"]) == (409, "lease_lost")
        assert worker_api.put(f"/blobs/{name}", content=content).status_code == 409
    with backend.client("nobody's", "/worker/v1") as worker_api:
        assert worker_api.get(f"/blobs/{own}").status_code == 401


def test_a_record_gives_a_job_only_what_its_worker_has_uploaded(backend: Backend) -> None:
    """Knowing the hash of another project's bytes opens nothing, and PUT does not tell that they are stored."""
    content = b"rows of another project"
    theirs = {"sha256": backend.add_object(content), "bytes": len(content)}
    first = backend.claim(backend.create_job())
    first.start()
    records: list[dict[str, Any]] = [
        {"kind": "checkpoint_saved", "step": 1, "blob": theirs, "held_out_reward": None},
        {"kind": "resume_state_saved", "step": 1, "blob": theirs},
        {"kind": "rollouts", "split": "train", "step": 1, "blob": theirs, "rows": []},
    ]
    with backend.client(first.claimed["job_token"], "/worker/v1") as worker_api:
        for record in records:
            refused = first.post([{"sequence": first.sequence + 1, "ts": 1.0, **record}])
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "blob_missing"), record
        missing = first.post(
            [{"sequence": first.sequence + 1, "ts": 1.0, **records[0], "blob": theirs | {"sha256": "0" * 64}}]
        )
        assert (
            missing.json()["error"]["message"].replace("0" * 64, theirs["sha256"])
            == (refused.json()["error"]["message"])
        ), "what others have stored is answered like what nobody has"
        name = theirs["sha256"]
        assert worker_api.get(f"/blobs/{name}").status_code == 404
        assert worker_api.put(f"/blobs/{name}", content=content).status_code == 201, "like a new one"
        first.send(records[0])
        assert worker_api.get(f"/blobs/{name}").content == content, "who has all of its bytes may name it"


def own_data(backend: Backend) -> dict[str, str]:
    return {"dataset": backend.add_dataset([{"prompt": "other rows", "answer": "2"}])}
