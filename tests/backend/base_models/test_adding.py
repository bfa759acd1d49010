"""Adding models: progress of a download from a hub, tokens, refusals, interruptions, repeated inspections."""

import json
import threading
from pathlib import Path
from typing import Any

from reinforge.client import Reinforge
from tests.backend.server import OWNER_KEY, Backend, refused, wait_until
from tests.support.hub_stub import COMMIT, HubStub, Repository
from tests.support.small_models import model_files

TOKEN = "hf_only_for_those_who_may"


def model_view(backend: Backend, id: str) -> dict[str, Any]:
    view: dict[str, Any] = backend.api.get(f"/models/{id}").json()
    return view


def test_a_download_is_watched_and_its_revision_pinned(live_backend: Backend, hub: HubStub) -> None:
    hold = threading.Event()
    hub.repositories["org/name"] = Repository(model_files(rows=40_000), hold=hold)
    body = {"id": "m", "source": "hub:org/name@v1"}
    started = live_backend.api.post("/models", json=body, params={"wait": "false"})
    assert (started.status_code, started.json()["status"]) == (201, "adding")

    def half() -> bool:
        progress = model_view(live_backend, "m")["progress"] or {}
        return progress.get("phase") == "downloading" and progress["total"] > 600_000

    wait_until(half, "the download")
    owners = live_backend.sql("SELECT project_id FROM call WHERE kind = 'inspect_model' AND state = 'taken'")
    assert owners == live_backend.sql("SELECT id FROM project")[:1]
    refused(live_backend.api.post("/sample", json={"model": "m", "prompts": [[{"role": "user", "content": "x"}]]}),
            "model", "model_not_ready")  # fmt: skip
    hold.set()
    wait_until(lambda: model_view(live_backend, "m")["status"] == "ready", "the model")
    made = model_view(live_backend, "m")
    assert (made["source"], made["revision"]) == (f"hub:org/name@{COMMIT}", COMMIT)
    assert (made["progress"], made["failure"], made["has_token"]) == (None, None, False)
    assert made["bytes"] > 600_000
    # Looked at again, it stays at its commit, and needs no hub for that.
    hub.away = True
    again = live_backend.api.post("/models", json={"id": "m", "source": "hub:org/name"})
    assert (again.status_code, again.json()["source"]) == (201, made["source"]), again.text


def test_a_token_reaches_the_worker_and_nobody_else(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/gated"] = Repository(model_files(), token=TOKEN, gated=True)
    body = {"id": "g", "source": "hub:org/gated"}
    error = live_backend.api.post("/models", json=body).json()["error"]
    assert (error["code"], error["param"]) == ("model_gated", "source")
    made = live_backend.api.post("/models", json=body | {"token": TOKEN})
    assert (made.status_code, made.json()["has_token"]) == (201, True)
    texts = made.text + live_backend.api.get("/models").text
    stored = json.dumps(live_backend.sql("SELECT row_to_json(base_model) FROM base_model")) + json.dumps(
        live_backend.sql("SELECT row_to_json(call) FROM call")
    )
    assert TOKEN not in texts + stored
    # Whoever renders or trains needs the files, too.
    with live_backend.rpc_worker() as other:
        job = live_backend.create_job(model="g")
    assert [payload.get("hub_token") for kind, payload in other.calls if kind == "render"] == [TOKEN]
    assert live_backend.claim(job).claimed["hub_token"] == TOKEN


def test_a_model_without_a_template_is_offered_one(
    live_backend: Backend, hub: HubStub, tmp_path: Path
) -> None:
    hub.repositories["org/base"] = Repository(model_files(template=False))
    body = {"id": "b", "source": "hub:org/base"}
    error = refused(live_backend.api.post("/models", json=body), "chat_template", "no_chat_template")
    assert '"plain"' in error["hint"]
    assert live_backend.api.get("/models/b").status_code == 404
    made = live_backend.api.post("/models", json=body | {"chat_template": "plain"}).json()
    assert (made["has_chat_template"], made["source"]) == (True, f"hub:org/base@{COMMIT}#template=plain")
    assert live_backend.api.post("/models", json=body).json()["source"] == made["source"]  # the choice stays
    bare = live_backend.api.post(
        "/models", json={"id": "bare", "source": "hub:org/base", "chat_template": "bare"}
    ).json()
    assert (bare["has_chat_template"], bare["source"]) == (False, f"hub:org/base@{COMMIT}")
    assert bare["sha256"] != made["sha256"]


def test_a_refusal_that_nobody_waits_for_stays_in_the_list(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/old"] = Repository({"config.json": b"{}", "pytorch_model.bin": b"x"})
    body = {"id": "old", "source": "hub:org/old"}
    live_backend.api.post("/models", json=body, params={"wait": "false"})
    wait_until(lambda: model_view(live_backend, "old")["status"] == "failed", "the refusal")
    view = model_view(live_backend, "old")
    assert (view["failure"]["code"], view["error"]) == ("unsafe_weights", view["failure"]["message"])
    assert view["failure"]["hint"]
    # Fixed, it is added; what nobody uses can be removed.
    hub.repositories["org/old"] = Repository(model_files())
    assert live_backend.api.post("/models", json=body).json()["status"] == "ready"
    assert live_backend.api.delete("/models/old").status_code == 204
    assert live_backend.api.get("/models/old").status_code == 404


def test_a_model_in_use_is_not_removed_and_a_bad_look_changes_nothing(
    live_backend: Backend, hub: HubStub
) -> None:
    hub.repositories["org/used"] = Repository(model_files())
    body = {"id": "used", "source": "hub:org/used"}
    before = live_backend.api.post("/models", json=body).json()
    with live_backend.rpc_worker():
        live_backend.create_job(model="used")
    removal = live_backend.api.delete("/models/used")
    assert (removal.status_code, removal.json()["error"]["code"]) == (409, "model_in_use")
    live_backend.sql("UPDATE base_model SET source = 'hub:org/used@v9' WHERE id = 'used'")
    error = live_backend.api.post("/models", json=body).json()["error"]
    assert error["code"] == "model_not_found"
    after = model_view(live_backend, "used")
    assert (after["status"], after["sha256"], after["failure"]["code"]) == (
        "ready",
        before["sha256"],
        "model_not_found",
    )


def test_an_addition_whose_server_died_says_so(live_backend: Backend) -> None:
    live_backend.sql(
        "INSERT INTO base_model (key, id, source, status, has_chat_template, lora_targets, created_at, touched_at)"
        " VALUES ('mdl_lost', 'lost', 'hub:org/name', 'adding', false, '[]', now(), now() - interval '10 minutes')"
    )
    view = model_view(live_backend, "lost")
    assert (view["status"], view["failure"]["code"]) == ("failed", "interrupted")


def test_the_sdk_adds_and_watches(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/name"] = Repository(model_files(), token=TOKEN)
    with Reinforge(live_backend.url, OWNER_KEY) as client:
        phases: list[str] = []
        made = client.models.add(
            "sdk",
            "hub:org/name",
            token=TOKEN,
            progress=lambda progress: phases.append(progress.phase),
            every=0.01,
        )
        assert (made.status, made.revision) == ("ready", COMMIT)
        assert phases
        client.models.remove("sdk")
