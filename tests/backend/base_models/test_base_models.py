"""Base models over HTTP, inspected by a real calls worker."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.server import WORKER_TOKEN, Backend, wait_until
from tests.support.small_models import CONFIG, model_files
from worker.backend_api.client import WorkerApi
from worker.models.sources import ModelStore
from worker.rpc.server import CallWorker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in model_files().items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def live_backend(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    backend.register("wrk_real", "calls")
    models = ModelStore(tmp_path_factory.mktemp("models"))
    worker = CallWorker(WorkerApi(backend.url, WORKER_TOKEN), "wrk_real", models, None)
    thread = threading.Thread(target=worker.loop, args=(["inspect_model"], 0.3))
    thread.start()
    yield backend
    worker.stop.set()
    thread.join(10)
    backend.sql("DELETE FROM worker WHERE id = 'wrk_real'")


def test_a_model_is_added_with_the_facts_from_the_worker(live_backend: Backend, folder: Path) -> None:
    response = live_backend.api.post("/models", json={"id": "toy", "source": str(folder)})
    assert response.status_code == 201, response.text
    made = response.json()
    assert (made["architecture"], made["parameters"], made["context_length"]) == ("Qwen3ForCausalLM", 8, 64)
    assert (made["status"], made["lora_targets"], made["has_chat_template"]) == ("ready", ["q_proj"], True)
    assert made["memory"]["kv_per_token"] == 2 * 1 * 1 * 2 * 2
    assert len(made["sha256"]) == 64
    assert live_backend.api.get("/models/toy").json() == made
    assert "toy" in [model["id"] for model in live_backend.api.get("/models").json()["data"]]

    # The same again looks again; another source under the same name is refused.
    (folder / "config.json").write_text(json.dumps(CONFIG | {"architectures": ["Toy2"]}))
    again = live_backend.api.post("/models", json={"id": "toy", "source": str(folder)}).json()
    assert (again["architecture"], again["created_at"]) == ("Toy2", made["created_at"])
    other = live_backend.api.post("/models", json={"id": "toy", "source": "/elsewhere"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "model_exists")
    assert other.headers["x-should-retry"] == "false"


def test_what_the_worker_refuses_is_not_stored(live_backend: Backend, folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    for source, code in ((str(folder), "unsafe_weights"), ("/nowhere", "model_not_found")):
        response = live_backend.api.post("/models", json={"id": "bad", "source": source})
        assert response.status_code == 422
        error = response.json()["error"]
        assert (error["code"], error["param"]) == (code, "source")
        assert error["hint"]
    assert live_backend.api.get("/models/bad").status_code == 404


def test_editors_name_folders_below_the_roots_only(live_backend: Backend, folder: Path) -> None:
    """Elsewhere one answer, whether a folder is there or not; an administrator names any."""
    with live_backend.add_key("editor") as editor:
        messages = set()
        for source in (str(folder), "/nowhere", "/root"):
            answer = editor.post("/models", json={"id": "probe", "source": source})
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["param"]) == (
                422,
                "folder_not_allowed",
                "source",
            )
            messages.add(error["message"].replace(source, "…"))
        assert len(messages) == 1
        assert (
            live_backend.api.post("/models", json={"id": "probe", "source": str(folder)}).status_code == 201
        )
        # What an administrator has chosen is looked at again by whoever uses it.
        assert editor.post("/models", json={"id": "probe", "source": str(folder)}).status_code == 201


def test_names_have_no_slash(live_backend: Backend) -> None:
    response = live_backend.api.post("/models", json={"id": "org/name", "source": "/x"})
    assert (response.status_code, response.json()["error"]["param"]) == (422, "id")


def test_the_starter_model_appears_once_a_worker_is_there(
    empty_backend: Backend, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("worker.models.sources").models.sources.BUILTIN, "starter-arith", folder)
    assert empty_backend.api.get("/models").json()["data"] == []
    missing = empty_backend.api.get("/models/starter-arith")
    assert missing.status_code == 404
    assert "python -m worker calls" in missing.json()["error"]["hint"]
    empty_backend.register("wrk_real", "calls")
    worker = CallWorker(
        WorkerApi(empty_backend.url, WORKER_TOKEN), "wrk_real", ModelStore(folder / "store"), None
    )
    thread = threading.Thread(target=worker.loop, args=(["inspect_model"], 0.3))
    thread.start()
    try:
        wait_until(
            lambda: empty_backend.api.get("/models/starter-arith").status_code == 200, "the starter model"
        )
    finally:
        worker.stop.set()
        thread.join(10)
    made = empty_backend.api.get("/models/starter-arith").json()
    assert (made["source"], made["architecture"]) == ("builtin:starter-arith", "Qwen3ForCausalLM")
    taken = empty_backend.api.post("/models", json={"id": "starter-arith", "source": str(folder)})
    assert taken.status_code == 409


def test_a_job_on_the_starter_model_need_not_wait_until_it_appears(live_backend: Backend) -> None:
    """The first thing people do after the start is to send a job."""
    live_backend.sql("DELETE FROM base_model WHERE id = 'starter-arith'")
    dataset = live_backend.api.post(
        "/datasets", files={"file": ("rows.jsonl", b'{"prompt": "1+1="}\n')}
    ).json()
    spec = {
        "model": "starter-arith",
        "data": {"dataset": dataset["id"]},
        "rewards": [{"source": "def grade(sample, item):\n    return 1.0\n"}],
    }
    answer = live_backend.api.post("/jobs", json=spec)
    # This worker has no sandbox, so the job itself is refused, but not for want of the model.
    assert answer.json()["error"]["code"] != "model_not_found", answer.text
    assert live_backend.api.get("/models/starter-arith").status_code == 200


@pytest.fixture
def empty_backend(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(database_url, tmp_path_factory.mktemp("empty")) as running:
        yield running
