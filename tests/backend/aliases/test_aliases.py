"""Aliases of adapters: promotion by report card, history, and every place that takes the name of a model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from reinforge.cli.main import app
from reinforge.errors import InvalidInput
from tests.backend.jobs.monitoring.test_verdicts import finished
from tests.backend.openai.chat_request import Chat
from tests.backend.people import refusal
from tests.backend.playground.player import player
from tests.backend.server import OWNER_KEY, Backend


@pytest.fixture(scope="module")
def jobs(backend: Backend) -> list[str]:
    """Of 24 held-out rows 12 were right before; after them 22 and 12."""
    return [finished(backend, 12, 22), finished(backend, 12, 12)]


@pytest.fixture(scope="module")
def adapters(backend: Backend, jobs: list[str]) -> list[str]:
    return [backend.job(job)["adapter"] for job in jobs]


@pytest.fixture(autouse=True)
def clean(backend: Backend) -> Iterator[None]:
    yield
    backend.sql("DELETE FROM deployment")
    backend.sql("DELETE FROM adapter_alias")
    backend.sql("DELETE FROM adapter_alias_change")
    backend.sql("UPDATE project SET required_card = NULL")


def put(
    backend: Backend, adapter: str, name: str = "production", match: str | None = None, **body: Any
) -> httpx.Response:
    headers = {} if match is None else {"if-match": match}
    return backend.api.put(f"/adapters/aliases/{name}", json={"adapter": adapter, **body}, headers=headers)


def test_an_alias_moves_with_its_history_and_refuses_lost_updates(
    backend: Backend, adapters: list[str]
) -> None:
    first = put(backend, adapters[0])
    assert (first.status_code, first.json()["adapter"], first.json()["step"]) == (200, adapters[0], 2)
    assert refusal(put(backend, adapters[1])) == (428, "precondition_required")
    moved = put(backend, adapters[1], match=first.json()["etag"])
    assert moved.status_code == 200 and moved.json()["adapter"] == adapters[1]
    assert refusal(put(backend, adapters[0], match=first.json()["etag"])) == (412, "precondition_failed")
    assert [alias["name"] for alias in backend.api.get("/adapters/aliases").json()["data"]] == ["production"]
    assert backend.api.delete("/adapters/aliases/production").status_code == 204
    history = backend.api.get("/adapters/aliases/production/history").json()["data"]
    assert [(change["adapter"], change["previous"]) for change in history] == [
        (None, adapters[1]), (adapters[1], adapters[0]), (adapters[0], None),
    ]  # fmt: skip
    assert refusal(backend.api.get("/adapters/aliases/production")) == (404, "alias_not_found")


def test_a_promotion_needs_the_card_that_it_or_the_project_requires(
    backend: Backend, adapters: list[str]
) -> None:
    better, same = adapters
    assert put(backend, better, require="held_out_gain>0.02").status_code == 200
    [change] = backend.api.get("/adapters/aliases/production/history").json()["data"]
    assert change["requirement"]["met"] and change["requirement"]["text"] == "held_out_gain>0.02"
    refused = put(backend, same, match="*", require="held_out_gain>0.02")
    assert refusal(refused) == (409, "card_not_passed")
    assert "held_out_gain>0.02 is required. held_out_gain is 0." in refused.json()["error"]["message"]
    project = backend.api.get("/project").json()
    required = {"required_card": "held_out_gain.low>0"}
    changed = backend.api.patch(
        f"/projects/{project['id']}", json=required, headers={"if-match": project["etag"]}
    )
    assert (
        changed.json()["required_card"] == "held_out_gain.low>0" and changed.json()["name"] == project["name"]
    )
    assert refusal(put(backend, same, match="*")) == (409, "card_not_passed")
    assert put(backend, better, match="*").status_code == 200
    assert backend.api.get("/adapters/aliases/production").json()["adapter"] == better
    wrong = backend.api.patch(
        f"/projects/{project['id']}", json={"required_card": "good"}, headers={"if-match": "*"}
    )
    assert refusal(wrong) == (422, "invalid_condition")


def test_requests_by_alias_go_to_the_adapter_of_the_moment(backend: Backend, adapters: list[str]) -> None:
    etag = put(backend, adapters[0]).json()["etag"]
    with player(backend) as worker:
        requested: list[str] = []
        for _ in range(2):
            chat = Chat(backend, model="production")
            requested.append(worker.take()["adapter"]["sha256"])
            worker.answer(result={})
            assert chat.end().status_code == 200
            put(backend, adapters[1], match=etag)
    stored = [backend.api.get(f"/adapters/{id}").json()["sha256"] for id in adapters]
    assert requested == stored
    assert backend.api.get("/adapters/production").json()["id"] == adapters[1]
    with backend.client(OWNER_KEY, "/v1") as wire:
        assert "production" in [model["id"] for model in wire.get("/models").json()["data"]]
        assert wire.get("/models/production").json()["id"] == "production"
        assert wire.delete("/models/production").json()["error"]["code"] == "model_not_deletable"


def test_jobs_and_deployments_pin_the_adapter_of_the_moment(backend: Backend, adapters: list[str]) -> None:
    put(backend, adapters[0])
    with backend.rpc_worker():
        job = backend.job(backend.create_job(model="production"))
        deployed = backend.api.post("/deployments", json={"name": "sums", "adapter": "production"})
    assert job["started_from"]["id"] == job["resolved_spec"]["adapter"]["start"] == adapters[0]
    assert job["model"] == "tiny"
    assert deployed.json()["adapter"] == adapters[0]


def test_names_are_unique_among_models_and_what_an_alias_names_stays(
    backend: Backend, adapters: list[str], jobs: list[str]
) -> None:
    backend.api.post("/deployments", json={"name": "taken", "model": "tiny"})
    for name, status, code in (
        ("tiny", 409, "name_taken"),
        ("taken", 409, "name_taken"),
        ("starter-arith", 409, "name_taken"),
        ("adp_1", 422, "invalid_name"),
        ("a b", 422, "invalid_name"),
    ):
        assert refusal(put(backend, adapters[0], name)) == (status, code), name
    assert refusal(put(backend, "adp_none")) == (422, "adapter_not_found")
    put(backend, adapters[0])
    taken = backend.api.post("/deployments", json={"name": "production", "model": "tiny"})
    assert refusal(taken) == (422, "name_taken")
    model = {"id": "production", "source": "hub:org/model"}
    assert refusal(backend.api.post("/models", json=model)) == (409, "name_taken")
    assert refusal(backend.api.delete(f"/jobs/{jobs[0]}")) == (409, "job_has_alias")


def test_the_command_line_promotes_and_gates(
    backend: Backend, adapters: list[str], jobs: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REINFORGE_URL", backend.url)
    monkeypatch.setenv("REINFORGE_API_KEY", OWNER_KEY)

    def run(*command: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(command))
        return result.exit_code, result.output

    require = ("--require-card", "held_out_gain>0.02")
    assert run("promote", jobs[0], "--to", "production", *require)[0] == 0
    assert run("promote", adapters[1], "--to", "production", *require)[0] == 3
    assert adapters[0] in run("alias", "history", "production", "--json")[1]
    folder = tmp_path / "card"
    assert run("job", "card", jobs[0], "--format", "all", "--out", str(folder))[0] == 0
    assert run("job", "card", jobs[0], "--verify", str(folder))[0] == 0
    assert run("gate", str(folder / "card.json"), *require)[0] == 0
    code, output = run("gate", jobs[1], *require, "--json")
    assert code == 3 and '"met": false' in output
    assert "# Report card" in run("job", "card", jobs[0])[1]
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"notes": []}))
    changed = CliRunner().invoke(app, ["job", "card", jobs[0], "--verify", str(folder)]).exception
    assert isinstance(changed, InvalidInput) and changed.code == "file_changed"
