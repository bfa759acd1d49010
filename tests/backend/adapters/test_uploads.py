"""Uploaded PEFT adapters, checked by a real worker against a tiny base model."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from safetensors.torch import load_file, save

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS
from tests.backend.server import WORKER_TOKEN, Backend, refused
from tests.support.tiny_models import write_tiny_model
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.models.sources import ModelStore
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.rpc.server import CallWorker
from worker.training.checkpoint.archive import unpack
from worker.training.checkpoint.fork import start_weights


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def peft(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    folder = tmp_path_factory.mktemp("peft")
    policy = LocalHost(load_base_model(model)).create_policy(
        "p", rank=4, alpha=8, targets=["q_proj", "v_proj"], seed=1
    )
    policy.export(folder, base_model="elsewhere")
    return folder


@pytest.fixture(scope="module")
def live(rpc_backend: Backend, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """A worker that checks adapters, and the base model `qwen`."""
    rpc_backend.add_model("qwen")
    rpc_backend.sql("UPDATE base_model SET source = %s WHERE id = 'qwen'", str(model))
    folder = tmp_path_factory.mktemp("worker")
    api = WorkerApi(rpc_backend.url, WORKER_TOKEN)
    models = ModelStore(folder)
    worker = CallWorker(api, "wrk_adapters", models, None, blobs=BlobCache(folder / "blobs", api.get_blob))
    rpc_backend.register("wrk_adapters", "calls", ["inspect_adapter"])
    thread = threading.Thread(target=worker.loop, args=(["inspect_adapter"], 0.3))
    thread.start()
    yield rpc_backend
    worker.stop.set()
    thread.join(10)


def upload(backend: Backend, peft: Path, weights: bytes | None = None, **fields: Any) -> httpx.Response:
    content = (peft / WEIGHTS).read_bytes() if weights is None else weights
    data = {"model": "qwen", "name": "from elsewhere", "config": (peft / CONFIG).read_text()} | fields
    return backend.api.post("/adapters", files={"weights": (WEIGHTS, content)}, data=data)


def test_a_job_starts_from_an_uploaded_adapter(live: Backend, model: Path, peft: Path) -> None:
    answer = upload(live, peft)
    assert answer.status_code == 201, answer.text
    adapter = answer.json()
    assert (adapter["name"], adapter["model"], adapter["job"], adapter["checkpoint"]) == (
        "from elsewhere",
        "qwen",
        None,
        None,
    )
    assert live.api.get(f"/adapters/{adapter['id']}").json() == adapter
    assert adapter["id"] in [one["id"] for one in live.api.get("/adapters").json()["data"]]

    job = live.job(live.create_job(model=adapter["id"]))
    assert job["started_from"] == {"id": adapter["id"], "name": "from elsewhere", "job": None, "step": None}
    lora = job["resolved_spec"]["adapter"]
    assert (lora["rank"], lora["alpha"], lora["targets"]) == (4, 8.0, ["q_proj", "v_proj"])
    claimed = live.claim(job["id"]).claimed
    with live.client(claimed["job_token"], "/worker/v1") as worker:
        archive = worker.get(f"/blobs/{claimed['start']['sha256']}").content
    policy = LocalHost(load_base_model(model)).create_policy(
        "policy", rank=lora["rank"], alpha=lora["alpha"], targets=lora["targets"], seed=2
    )
    weights = start_weights(archive, "policy", policy.weights())
    original = load_file(peft / WEIGHTS)
    assert len(weights) == len(original)
    assert all(
        torch.equal(weights[key.replace(".weight", ".policy.weight")], original[key]) for key in original
    )
    config = json.loads(unpack(archive)[CONFIG])
    assert "base_model_name_or_path" not in config


def test_it_is_deployed_and_downloaded_but_not_evaluated(live: Backend, peft: Path) -> None:
    adapter = upload(live, peft).json()["id"]
    made = live.api.post("/deployments", json={"name": "uploaded", "adapter": adapter})
    assert made.status_code == 201, made.text
    assert live.api.get(f"/adapters/{adapter}/download").content[:2] == b"\x1f\x8b"
    evaluation = {
        "kind": "stand_alone",
        "name": "e",
        "adapter": adapter,
        "dataset": live.add_dataset(),
        "source": "x",
    }
    refused(live.api.post("/evaluations", json=evaluation), "adapter", "adapter_not_evaluable")


def changed(peft: Path, fault: str) -> bytes:
    tensors = load_file(peft / WEIGHTS)
    first = min(tensors)
    if fault == "rank":
        return save(
            {
                key: torch.zeros([2 if size == 4 else size for size in one.shape])
                for key, one in tensors.items()
            }
        )
    if fault == "layer":
        tensors[first.replace("layers.0", "layers.9")] = tensors.pop(first)
    elif fault == "width":
        tensors[first] = torch.zeros(4, tensors[first].shape[1] + 1)
    elif fault == "half":
        del tensors[first]
    elif fault == "missing":
        tensors = {key: one for key, one in tensors.items() if "layers.0" not in key}
    elif fault == "other":
        tensors["lm_head.weight"] = torch.zeros(2, 2)
    elif fault == "type":
        tensors[first] = tensors[first].double()
    return save(tensors)


@pytest.mark.parametrize("fault", ["rank", "layer", "width", "half", "missing", "other", "type"])
def test_weights_that_do_not_fit_are_one_error(live: Backend, peft: Path, fault: str) -> None:
    before = live.sql("SELECT count(*) FROM adapter")
    refused(upload(live, peft, changed(peft, fault)), "weights", "adapter_does_not_fit")
    assert live.sql("SELECT count(*) FROM adapter") == before


@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle", b"\xff" * 64], ids=["empty", "pickle", "header"])
def test_damaged_files_are_one_error(live: Backend, peft: Path, content: bytes) -> None:
    refused(upload(live, peft, content), "weights", "damaged_weights")


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"model": "none"}, "model", "model_not_found"),
        ({"config": "{}"}, "config", "unsupported_adapter"),
        ({"config": ""}, "config", "invalid_adapter_config"),
        ({"name": "x" * 201}, "name", "name_too_long"),
    ],
)
def test_other_faults_name_their_field(
    live: Backend, peft: Path, fields: dict[str, str], param: str, code: str
) -> None:
    answer = upload(live, peft, **fields)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (422, param, code)


def test_viewers_and_other_projects(live: Backend, peft: Path) -> None:
    adapter = upload(live, peft).json()["id"]
    with live.add_key("viewer") as viewer:
        files = {"weights": (WEIGHTS, b"x")}
        assert viewer.post("/adapters", files=files, data={"model": "qwen"}).status_code == 403
    live.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_o', 'other', now()) ON CONFLICT DO NOTHING"
    )
    with live.add_key("owner", project="other") as other:
        assert other.get(f"/adapters/{adapter}").status_code == 404
        check = other.post("/jobs/check?quick=true", json=live.spec(model=adapter)).json()
        assert check["problems"][0]["code"] == "adapter_not_found"


def test_deletion_ends_the_adapter_but_not_its_deployment(live: Backend, peft: Path) -> None:
    adapter = upload(live, peft, name="short-lived").json()["id"]
    live.api.post("/deployments", json={"name": "goes-on", "adapter": adapter})
    with live.add_key("viewer") as viewer:
        assert viewer.delete(f"/adapters/{adapter}").status_code == 403
    with live.add_key("editor") as editor:
        assert editor.delete(f"/adapters/{adapter}").status_code == 204
    assert [live.api.get(f"/adapters/{adapter}{more}").status_code for more in ("", "/download")] == [
        404,
        404,
    ]
    assert live.api.delete(f"/adapters/{adapter}").status_code == 404
    assert adapter not in live.api.get("/adapters").text
    deployment = live.api.get("/deployments/goes-on").json()
    assert (deployment["adapter"], deployment["model"]) == (None, "qwen")
    # What counts as stored is what rows name.
    assert live.sql("SELECT count(*) FROM adapter WHERE id = %s", adapter) == [(0,)]
