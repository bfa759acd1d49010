"""Every edit says what it was made from. Made from the OpenAPI document: a new PATCH or PUT without it fails here."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from reinforge.client import Reinforge
from reinforge.errors import Stale
from tests.backend.people import refusal, starter
from tests.backend.server import OWNER_KEY, Backend
from tests.backend.tenancy import Operation, Stranger, needs_match

EXCEPT: dict[str, str] = {
    "putBlob": "its address is the hash of its content: there is nothing to overwrite",
    "putDatasetUploadPart": "a part of an upload that only its sender knows; the same part may be sent again",
}
"""Operations that replace something and need no If-Match, with the reason."""
BESIDES = {"createRewardRevision"}
"""POST in name, an edit of the reward in effect."""
OWN = {"updateMe", "updateNotifications"}
"""Edits of a person's own account."""
BODIES: dict[str, Any] = {
    "setBudget": {"kind": "judge_spend", "period": "total", "amount": 2e9},
    "updateJob": {"name": "zebra two"},
    "updateMe": {"name": "Somebody else"},
    "updateNotifications": {"events": ["fine_tuning.job.failed"]},
    "renameProject": {"name": "zebra two"},
    "updateDataset": {"name": "zebra two"},
    "changeTracker": {"destination": "another"},
    "changeWebhook": {"description": "another"},
    "changeJudge": {"input_price": 2},
    "createRewardRevision": {"source": "def grade(sample, item):\n    return 0.5\n"},
}


@pytest.fixture(scope="module")
def stranger(rpc_backend: Backend) -> Iterator[Stranger]:
    other = Stranger(rpc_backend)
    other.things["me"] = "me"
    yield other
    other.api.close()
    other.us.close()


def edits(backend: Backend) -> list[Operation]:
    listed = [
        Operation(spec["operationId"], method, path, spec)
        for path, methods in backend.app.openapi()["paths"].items()
        for method, spec in methods.items()
        if method in ("patch", "put") or spec.get("operationId") in BESIDES
    ]
    return [operation for operation in listed if operation.id not in EXCEPT]


def ask(stranger: Stranger, operation: Operation, match: str | None, client: httpx.Client) -> httpx.Response:
    headers = {} if match is None else {"if-match": match}
    url = stranger.backend.url + stranger.url(operation)
    body = BODIES.get(operation.id) or stranger.body(operation)
    if operation.id == "changeDeployment":
        body = {"checkpoint": stranger.checkpoint}
    if operation.id == "setAlias":
        body = {"adapter": stranger.things["adapters"]}
    return client.request(operation.method.upper(), url, headers=headers, json=body)


def test_every_edit_takes_if_match(stranger: Stranger) -> None:
    assert [operation.id for operation in edits(stranger.backend) if not needs_match(operation)] == []
    assert len(edits(stranger.backend)) >= 9
    ids = {
        operation["operationId"]
        for item in stranger.backend.app.openapi()["paths"].values()
        for operation in item.values()
    }
    assert set(EXCEPT) <= ids, "an exception for an operation that is gone"


def test_an_edit_without_or_with_an_old_tag_is_refused_and_with_the_present_one_made(
    stranger: Stranger,
) -> None:
    wrong = {}
    with starter(stranger.backend) as person:
        stranger.backend.sql(
            "UPDATE user_account SET email = id || '@x.org', confirmed_email = id || '@x.org'"
        )
        for operation in edits(stranger.backend):
            client = person if operation.id in OWN else stranger.api
            missing = ask(stranger, operation, None, client)
            stale = ask(stranger, operation, '"0000"', client)
            if (missing.status_code, stale.status_code) != (428, 412):
                wrong[operation.id] = (missing.text, stale.text)
                continue
            assert refusal(missing) == (428, "precondition_required")
            now = stale.json()["error"]["current"]
            made = ask(stranger, operation, f'"{now["etag"]}"', client)
            if made.status_code not in (200, 201) or made.json()["etag"] == now["etag"]:
                wrong[operation.id] = (made.status_code, made.text)
            again = ask(stranger, operation, now["etag"], client)
            if again.status_code != 412:
                wrong[operation.id] = (again.status_code, again.text)
    assert wrong == {}


def test_what_is_listed_has_the_tag_that_one_thing_has(stranger: Stranger) -> None:
    for room in (
        "datasets",
        "rewards",
        "judges",
        "trackers",
        "webhooks",
        "members",
        "deployments",
        "projects",
    ):
        listed = {item["id"]: item["etag"] for item in stranger.api.get(f"/{room}").json()["data"]}
        alone = stranger.api.get(f"/{room}/{stranger.things[room]}")
        assert alone.headers["etag"] == f'"{alone.json()["etag"]}"', room
        assert listed[stranger.things[room]] == alone.json()["etag"], room


def test_a_budget_that_is_not_there_is_made_without_a_tag_and_not_with_one(stranger: Stranger) -> None:
    fresh = {"kind": "sampled_tokens", "period": "day", "amount": 1e9}
    gone = stranger.api.put("/budgets", json=fresh, headers={"if-match": "abc"})
    assert refusal(gone) == (412, "precondition_failed")
    assert stranger.api.put("/budgets", json=fresh).status_code == 200


def test_the_sdk_sends_it_on_its_own_and_tells_what_is_there_now(backend: Backend) -> None:
    with Reinforge(backend.url, OWNER_KEY) as client:
        judge = client.judges.add("edited", base_url="http://127.0.0.1:9/v1", model="big")
        assert client.judges.change("edited", model="bigger").model == "bigger"
        with pytest.raises(Stale) as late:
            client.judges.change("edited", etag=judge.etag, model="biggest")
        assert late.value.current is not None
        assert late.value.current["model"] == "bigger"
        assert client.usage.set_budget("device_seconds", 1e9).amount == 1e9
        assert client.usage.set_budget("device_seconds", 2e9).amount == 2e9
        client.usage.remove_budget("device_seconds")
        assert client.projects.rename(client.me().project, "default").name == "default"
