"""Versions of a dataset: immutable, the older ones readable by the jobs that use them."""

import hashlib
import json
from typing import Any

from tests.backend.server import Backend


def upload(backend: Backend, answer: str, name: str = "sums") -> dict[str, Any]:
    rows = "".join(json.dumps({"prompt": f"{n}+1=", "answer": answer}) + "\n" for n in range(20))
    made = backend.api.post("/datasets", files={"file": ("sums.jsonl", rows.encode())}, data={"name": name})
    assert made.status_code == 201, made.text
    dataset: dict[str, Any] = made.json()
    return dataset


def dataset_view(backend: Backend, id: str) -> dict[str, Any]:
    view: dict[str, Any] = backend.api.get(f"/datasets/{id}").json()
    return view


def test_a_job_goes_on_reading_the_version_it_was_made_with(rpc_backend: Backend) -> None:
    first = upload(rpc_backend, "1", "versions")
    job = rpc_backend.create_job(data={"dataset": first["id"]})
    second = upload(rpc_backend, "2", "versions")
    assert (dataset_view(rpc_backend, first["id"])["newest"], second["newest"]) == (second["id"], None)
    assert {row["answer"] for row in rpc_backend.api.get(f"/datasets/{first['id']}/rows").json()["data"]} == {
        "1"
    }

    trainer = rpc_backend.claim(job)
    sha256 = trainer.claimed["dataset"]["sha256"]
    with rpc_backend.client(trainer.claimed["job_token"], "/worker/v1") as worker_api:
        content = worker_api.get(f"/blobs/{sha256}").content
    assert hashlib.sha256(content).hexdigest() == first["sha256"]
    refused = rpc_backend.api.delete(f"/datasets/{first['id']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "dataset_in_use")


def test_the_newest_is_the_last_one_of_the_name_that_is_there(backend: Backend) -> None:
    first, other, second = upload(backend, "1", "a"), upload(backend, "1", "b"), upload(backend, "2", "a")
    listed = {dataset["id"]: dataset["newest"] for dataset in backend.api.get("/datasets").json()["data"]}
    assert (listed[first["id"]], listed[other["id"]], listed[second["id"]]) == (second["id"], None, None)
    assert backend.api.delete(f"/datasets/{second['id']}").status_code == 204
    assert dataset_view(backend, first["id"])["newest"] is None
    renamed = backend.api.patch(f"/datasets/{other['id']}", json={"name": "a"}, headers={"if-match": "*"})
    assert renamed.status_code == 200, renamed.text
    assert dataset_view(backend, first["id"])["newest"] == other["id"]
