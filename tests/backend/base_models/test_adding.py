"""Adding models while people watch: from a hub over HTTP, with a token, refused, interrupted, looked at again."""

import json
import threading
from pathlib import Path
from typing import Any

from reinforge.client import Reinforge
from tests.backend.server import OWNER_KEY, Backend, refused, wait_until
from tests.support.hub_stub import COMMIT, HubStub, Repository
from tests.support.small_models import model_files

TOKEN = "hf_only_for_those_who_may"


def shown(backend: Backend, id: str) -> dict[str, Any]:
    found: dict[str, Any] = backend.api.get(f"/models/{id}").json()
    return found


def test_a_download_is_watched_and_its_revision_pinned(lane: Backend, hub: HubStub) -> None:
    hold = threading.Event()
    hub.repositories["org/name"] = Repository(model_files(rows=40_000), hold=hold)
    body = {"id": "m", "source": "hub:org/name@v1"}
    started = lane.api.post("/models", json=body, params={"wait": "false"})
    assert (started.status_code, started.json()["status"]) == (201, "adding")

    def half() -> bool:
        progress = shown(lane, "m")["progress"] or {}
        return progress.get("phase") == "downloading" and progress["total"] > 600_000

    wait_until(half, "the download")
    owners = lane.sql("SELECT project_id FROM call WHERE kind = 'inspect_model' AND state = 'taken'")
    assert owners == lane.sql("SELECT id FROM project")[:1]
    refused(lane.api.post("/sample", json={"model": "m", "prompts": [[{"role": "user", "content": "x"}]]}),
            "model", "model_not_ready")  # fmt: skip
    hold.set()
    wait_until(lambda: shown(lane, "m")["status"] == "ready", "the model")
    made = shown(lane, "m")
    assert (made["source"], made["revision"]) == (f"hub:org/name@{COMMIT}", COMMIT)
    assert (made["progress"], made["failure"], made["has_token"]) == (None, None, False)
    assert made["bytes"] > 600_000
    # Looked at again, it stays at its commit, and needs no hub for that.
    hub.away = True
    again = lane.api.post("/models", json={"id": "m", "source": "hub:org/name"})
    assert (again.status_code, again.json()["source"]) == (201, made["source"]), again.text


def test_a_token_reaches_the_worker_and_nobody_else(lane: Backend, hub: HubStub) -> None:
    hub.repositories["org/gated"] = Repository(model_files(), token=TOKEN, gated=True)
    body = {"id": "g", "source": "hub:org/gated"}
    error = lane.api.post("/models", json=body).json()["error"]
    assert (error["code"], error["param"]) == ("model_gated", "source")
    made = lane.api.post("/models", json=body | {"token": TOKEN})
    assert (made.status_code, made.json()["has_token"]) == (201, True)
    seen = made.text + lane.api.get("/models").text
    stored = json.dumps(lane.sql("SELECT row_to_json(base_model) FROM base_model")) + json.dumps(
        lane.sql("SELECT row_to_json(call) FROM call")
    )
    assert TOKEN not in seen + stored
    # Whoever renders or trains needs the files, too.
    with lane.rpc_worker() as other:
        job = lane.create_job(model="g")
    assert [payload.get("hub_token") for kind, payload in other.calls if kind == "render"] == [TOKEN]
    assert lane.claim(job).claimed["hub_token"] == TOKEN


def test_a_model_without_a_template_is_offered_one(lane: Backend, hub: HubStub, tmp_path: Path) -> None:
    hub.repositories["org/base"] = Repository(model_files(template=False))
    body = {"id": "b", "source": "hub:org/base"}
    error = refused(lane.api.post("/models", json=body), "chat_template", "no_chat_template")
    assert '"plain"' in error["hint"]
    assert lane.api.get("/models/b").status_code == 404
    made = lane.api.post("/models", json=body | {"chat_template": "plain"}).json()
    assert (made["has_chat_template"], made["source"]) == (True, f"hub:org/base@{COMMIT}#template=plain")
    assert lane.api.post("/models", json=body).json()["source"] == made["source"]  # the choice stays
    bare = lane.api.post(
        "/models", json={"id": "bare", "source": "hub:org/base", "chat_template": "bare"}
    ).json()
    assert (bare["has_chat_template"], bare["source"]) == (False, f"hub:org/base@{COMMIT}")
    assert bare["sha256"] != made["sha256"]


def test_a_refusal_that_nobody_waits_for_stays_in_the_list(lane: Backend, hub: HubStub) -> None:
    hub.repositories["org/old"] = Repository({"config.json": b"{}", "pytorch_model.bin": b"x"})
    body = {"id": "old", "source": "hub:org/old"}
    lane.api.post("/models", json=body, params={"wait": "false"})
    wait_until(lambda: shown(lane, "old")["status"] == "failed", "the refusal")
    found = shown(lane, "old")
    assert (found["failure"]["code"], found["error"]) == ("unsafe_weights", found["failure"]["message"])
    assert found["failure"]["hint"]
    # Mended, it is added; what nobody uses can be removed.
    hub.repositories["org/old"] = Repository(model_files())
    assert lane.api.post("/models", json=body).json()["status"] == "ready"
    assert lane.api.delete("/models/old").status_code == 204
    assert lane.api.get("/models/old").status_code == 404


def test_a_model_in_use_is_not_removed_and_a_bad_look_changes_nothing(lane: Backend, hub: HubStub) -> None:
    hub.repositories["org/used"] = Repository(model_files())
    body = {"id": "used", "source": "hub:org/used"}
    before = lane.api.post("/models", json=body).json()
    with lane.rpc_worker():
        lane.create_job(model="used")
    removal = lane.api.delete("/models/used")
    assert (removal.status_code, removal.json()["error"]["code"]) == (409, "model_in_use")
    lane.sql("UPDATE base_model SET source = 'hub:org/used@v9' WHERE id = 'used'")
    error = lane.api.post("/models", json=body).json()["error"]
    assert error["code"] == "model_not_found"
    after = shown(lane, "used")
    assert (after["status"], after["sha256"], after["failure"]["code"]) == (
        "ready",
        before["sha256"],
        "model_not_found",
    )


def test_an_addition_whose_server_died_says_so(lane: Backend) -> None:
    lane.sql(
        "INSERT INTO base_model (key, id, source, status, has_chat_template, lora_targets, created_at, touched_at)"
        " VALUES ('mdl_lost', 'lost', 'hub:org/name', 'adding', false, '[]', now(), now() - interval '10 minutes')"
    )
    found = shown(lane, "lost")
    assert (found["status"], found["failure"]["code"]) == ("failed", "interrupted")


def test_the_sdk_adds_and_watches(lane: Backend, hub: HubStub) -> None:
    hub.repositories["org/name"] = Repository(model_files(), token=TOKEN)
    with Reinforge(lane.url, OWNER_KEY) as client:
        phases: list[str] = []
        made = client.models.add(
            "sdk", "hub:org/name", token=TOKEN, progress=lambda found: phases.append(found.phase), every=0.01
        )
        assert (made.status, made.revision) == ("ready", COMMIT)
        assert phases
        client.models.remove("sdk")
