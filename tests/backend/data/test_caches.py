"""Copies of deleted rows leave the caches of the server and of workers."""

import asyncio
import hashlib
import os
import time
from pathlib import Path

import httpx
import pytest

from backend.data.caches import CacheTidying
from backend.data.database import Database
from tests.backend.jobs.lifecycle.test_deletion import ended
from tests.backend.server import Backend

OLD = 3600


def unused(backend: Backend, *, objects: tuple[str, ...] = (), jobs: tuple[str, ...] = ()) -> set[str]:
    reply = backend.worker_api.post("/caches", json={"objects": list(objects), "jobs": list(jobs)})
    assert reply.status_code == 200, reply.text
    return {*reply.json()["objects"], *reply.json()["jobs"]}


def push(api: httpx.Client, name: str) -> tuple[str, str]:
    """A dataset of its own: id, hash."""
    content = f'{{"prompt": "a row of {name}", "answer": "1"}}\n'.encode() * 3
    made = api.post("/datasets", files={"file": (f"{name}.jsonl", content)})
    assert made.status_code == 201, made.text
    return made.json()["id"], hashlib.sha256(content).hexdigest()


def tidy(backend: Backend) -> None:
    async def once() -> None:
        database = Database(backend.database_url, pool_size=2)
        try:
            await CacheTidying(database, backend.home).tidy()
        finally:
            await database.close()

    asyncio.run(once())


def cached(backend: Backend, text: str) -> list[Path]:
    return [path for path in (backend.home / "cache").rglob("*") if text in path.name]


def age(paths: list[Path], seconds: float = OLD) -> None:
    for path in paths:
        os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_rows_of_a_deleted_dataset_leave_the_servers_caches(rpc_backend: Backend) -> None:
    api = rpc_backend.api
    (gone, gone_sha256), (present, present_sha256) = push(api, "gone"), push(api, "kept")
    for id in (gone, present):
        assert api.get(f"/datasets/{id}/rows").status_code == 200
        assert api.get(f"/datasets/{id}/report", params={"wait": 20}).json()["status"] == "ready"
    assert len(cached(rpc_backend, gone_sha256)) == 2, "the rows, and the report"
    assert api.delete(f"/datasets/{gone}").status_code == 204
    tidy(rpc_backend)
    assert cached(rpc_backend, gone_sha256), "read a moment ago: somebody may be at it"
    age(cached(rpc_backend, gone_sha256) + cached(rpc_backend, present_sha256))
    tidy(rpc_backend)
    assert cached(rpc_backend, gone_sha256) == []
    assert len(cached(rpc_backend, present_sha256)) == 2
    assert api.get(f"/datasets/{present}/rows").status_code == 200


def test_a_dataset_of_an_unfinished_job_is_needed(rpc_backend: Backend) -> None:
    id, sha256 = push(rpc_backend.api, "of a job")
    job = rpc_backend.create_job(data={"dataset": id})
    other, other_sha256 = push(rpc_backend.api, "of nobody")
    rpc_backend.sql("UPDATE dataset SET deleted_at = now() WHERE id = ANY(%s)", [id, other])
    assert unused(rpc_backend, objects=(sha256, other_sha256)) == {other_sha256}
    assert rpc_backend.api.post(f"/jobs/{job}/cancel").status_code == 200
    assert unused(rpc_backend, objects=(sha256,)) == {sha256}, "a finished job reads it no more"


def test_what_a_deleted_job_has_made_is_needed_no_more(rpc_backend: Backend) -> None:
    job, other = ended(rpc_backend), ended(rpc_backend)
    made = {
        id: {
            sha256
            for table in ("checkpoint", "resume_state", "adapter")
            for (sha256,) in rpc_backend.sql(f"SELECT sha256 FROM {table} WHERE job_id = %s", id)
        }
        for id in (job, other)
    }
    hashes = tuple(made[job] | made[other])
    assert unused(rpc_backend, objects=hashes, jobs=(job, other)) == set()
    rpc_backend.api.delete(f"/jobs/{job}")
    assert unused(rpc_backend, objects=hashes, jobs=(job, other)) == {job} | (made[job] - made[other])


def test_a_deleted_projects_rows_are_needed_no_more(rpc_backend: Backend) -> None:
    project = rpc_backend.api.post("/projects", json={"name": "to be deleted"}).json()["id"]
    with rpc_backend.client("rf-test-owner-key", "/api/v1") as theirs:
        theirs.headers["x-reinforge-project"] = project
        id, sha256 = push(theirs, "of a project")
        assert theirs.get(f"/datasets/{id}/rows").status_code == 200
    assert unused(rpc_backend, objects=(sha256,)) == set()
    done = rpc_backend.api.request("DELETE", f"/projects/{project}", json={"name": "to be deleted"})
    assert done.status_code in (200, 204), done.text
    assert unused(rpc_backend, objects=(sha256,)) == {sha256}
    age(cached(rpc_backend, sha256))
    tidy(rpc_backend)
    assert cached(rpc_backend, sha256) == []


def test_completions_of_a_deleted_job_leave_the_caches_of_processes_that_are_gone(backend: Backend) -> None:
    sha256 = "5" * 64
    left = backend.home / "cache" / "999999" / sha256
    workers = backend.home / "cache" / "blobs" / sha256
    for path in (left, workers):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"completions")
    age([left, workers])
    tidy(backend)
    assert (left.exists(), workers.exists()) == (False, True), "the worker's folder is its own to tidy"


def test_files_that_a_killed_process_was_writing_go_after_a_day(backend: Backend) -> None:
    folder = backend.home / "uploads"
    folder.mkdir(exist_ok=True)
    old, fresh = folder / "upload-old", folder / "upload-fresh"
    for path in (old, fresh):
        path.write_bytes(b"rows")
    age([old], 2 * 86_400)
    tidy(backend)
    assert (old.exists(), fresh.exists()) == (False, True)


@pytest.mark.parametrize("body", [{"objects": ["../../etc"]}, {"objects": ["a" * 64] * 1001}, {"jobs": [""]}])
def test_what_is_no_cache_is_refused(backend: Backend, body: dict[str, list[str]]) -> None:
    assert backend.worker_api.post("/caches", json=body).status_code == 422


def test_only_workers_ask(backend: Backend) -> None:
    with backend.client("rf-test-owner-key", "/worker/v1") as person:
        assert person.post("/caches", json={}).status_code == 401
