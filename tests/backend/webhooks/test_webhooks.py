"""Webhooks over HTTP: made, sent by the background's deliveries to a real receiver, tried again, ended."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook as Receiver
from standardwebhooks import WebhookVerificationError

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.webhooks.delivery import Deliveries, pause
from reinforge.client import Reinforge
from reinforge.net.outbound import Guard
from scripts.openai_sdks import RELEASES, install
from tests.backend.server import OWNER_KEY, Backend, refused
from tests.support.stub_server import Answer, RecordedRequest, StubServer

LOOPBACK = "127.0.0.0/8"


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    home = tmp_path_factory.mktemp("home")
    with Backend(module_database_url, home, allow_hosts=LOOPBACK) as running:
        running.register()
        yield running


@pytest.fixture
def stub(backend: Backend) -> Iterator[StubServer]:
    backend.sql("DELETE FROM webhook")
    server = StubServer()
    yield server
    server.close()


def make(backend: Backend, stub: StubServer, **fields: Any) -> dict[str, Any]:
    stub.on("POST", "/hook", Answer(body={}))
    response = backend.api.post("/webhooks", json={"url": f"{stub.url}/hook"} | fields)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def send(backend: Backend, guard: str = LOOPBACK) -> int:
    """What the background process does every second, once."""

    async def once() -> int:
        database = Database(backend.database_url, pool_size=2)
        try:
            return await Deliveries(database, Sealer(backend.settings), Guard.allowing(guard)).send_due()
        finally:
            await database.close()

    return asyncio.run(once())


def received(stub: StubServer, secret: str) -> list[dict[str, Any]]:
    """Bodies whose signatures the specification's own library accepts."""
    return [Receiver(secret).verify(request.body, request.headers) for request in stub.requests]


def log_of(backend: Backend, hook: str) -> list[dict[str, Any]]:
    listed = backend.api.get(f"/webhooks/{hook}/deliveries").json()["data"]
    return [backend.api.get(f"/webhooks/{hook}/deliveries/{delivery['id']}").json() for delivery in listed]


def due_now(backend: Backend) -> None:
    backend.sql("UPDATE webhook_delivery SET next_at = now() WHERE state = 'pending'")


def finish_job(backend: Backend, outcome: str = "succeeded") -> str:
    with backend.rpc_worker():
        job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.checkpoint(3, 1.0, final=True)
    trainer.end(outcome)
    return job


def test_a_job_s_end_arrives_signed(backend: Backend, stub: StubServer) -> None:
    made = make(backend, stub, events=["fine_tuning.job.succeeded", "fine_tuning.job.failed"])
    job = finish_job(backend)
    assert send(backend) == 1
    [event] = received(stub, made["secret"])
    assert (event["type"], event["object"], event["data"]["id"]) == (
        "fine_tuning.job.succeeded",
        "event",
        job,
    )
    assert event["id"].startswith("evt_")
    assert isinstance(event["created_at"], int)
    with pytest.raises(WebhookVerificationError):
        received(stub, "whsec_" + "A" * 32)
    assert send(backend) == 0  # once
    [delivered] = log_of(backend, made["id"])
    assert (delivered["state"], delivered["tries"], delivered["body"]) == ("delivered", 1, event)
    assert delivered["log"][0]["status"] == 200


UNWRAP = """
import json, sys
from openai import OpenAI
client = OpenAI(api_key="x")
for body, headers in json.load(sys.stdin)["seen"]:
    event = client.webhooks.unwrap(body, headers, secret=sys.argv[1])
    print(event.type, event.data.id)
"""


@pytest.mark.parametrize("sdk", sorted(RELEASES))
def test_the_openai_sdk_unwraps_it(backend: Backend, stub: StubServer, sdk: str) -> None:
    made = make(backend, stub)
    job = finish_job(backend)
    while send(backend):
        pass
    done = subprocess.run(
        [sys.executable, "-c", UNWRAP, made["secret"]],
        input=json.dumps({"seen": [(request.body.decode(), request.headers) for request in stub.requests]}),
        env=os.environ | {"PYTHONPATH": str(install()[sdk])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    # Both were due and are sent side by side.
    assert sorted(done.stdout.splitlines()) == [
        f"fine_tuning.job.running {job}",
        f"fine_tuning.job.succeeded {job}",
    ]


def test_unsubscribed_events_are_not_sent(backend: Backend, stub: StubServer) -> None:
    make(backend, stub, events=["fine_tuning.job.failed"])
    finish_job(backend)
    assert send(backend) == 0


def test_it_is_tried_again_with_the_same_id_until_received(backend: Backend, stub: StubServer) -> None:
    made = make(backend, stub)
    elsewhere = {"location": f"{stub.url}/else"}
    stub.on("POST", "/hook", Answer(500), Answer(302, headers=elsewhere), Answer(drop=True), Answer(204, b""))
    backend.api.post(f"/webhooks/{made['id']}/test")
    for _ in range(4):
        due_now(backend)
        assert send(backend) == 1
    [delivery] = log_of(backend, made["id"])
    assert (delivery["state"], delivery["type"]) == ("delivered", "webhook.test")
    assert [attempt["status"] for attempt in delivery["log"]] == [500, 302, None, 204]
    assert {request.headers["webhook-id"] for request in stub.requests} == {delivery["id"]}
    assert [request.path for request in stub.requests] == ["/hook"] * 4  # a redirect is not followed


def test_pauses_grow_and_end_after_three_days(backend: Backend, stub: StubServer) -> None:
    assert [4 <= pause(1) <= 6, 16 <= pause(2) <= 24, pause(30) <= 6 * 3600 * 1.2] == [True] * 3
    made = make(backend, stub)
    stub.on("POST", "/hook", Answer(503))
    backend.api.post(f"/webhooks/{made['id']}/test")
    send(backend)
    [(seconds, days)] = backend.sql(
        "SELECT extract(epoch FROM next_at - now()), extract(epoch FROM give_up_at - created_at) / 86400"
        " FROM webhook_delivery WHERE webhook_id = %s", made["id"],
    )  # fmt: skip
    assert 2 < float(seconds) < 6.1
    assert float(days) == 3
    backend.sql("UPDATE webhook_delivery SET give_up_at = now() WHERE webhook_id = %s", made["id"])
    due_now(backend)
    send(backend)
    [delivery] = log_of(backend, made["id"])
    assert (delivery["state"], delivery["next_at"]) == ("failed", None)
    # Asked for, it goes out once more.
    stub.on("POST", "/hook", Answer(200))
    again = backend.api.post(f"/webhooks/{made['id']}/deliveries/{delivery['id']}/resend")
    assert (again.status_code, again.json()["state"]) == (202, "pending")
    send(backend)
    assert log_of(backend, made["id"])[0]["state"] == "delivered"


def test_a_receiver_that_is_gone_is_left_alone(backend: Backend, stub: StubServer) -> None:
    made = make(backend, stub)
    stub.on("POST", "/hook", Answer(410))
    backend.api.post(f"/webhooks/{made['id']}/test")
    send(backend)
    view = backend.api.get(f"/webhooks/{made['id']}").json()
    assert (view["enabled"], view["disabled_reason"]) == (False, "gone")
    finish_job(backend)
    due_now(backend)
    assert send(backend) == 0
    refusal = backend.api.post(f"/webhooks/{made['id']}/test")
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (409, "webhook_disabled")
    assert (
        backend.api.patch(
            f"/webhooks/{made['id']}", headers={"if-match": "*"}, json={"enabled": True}
        ).json()["disabled_reason"]
        is None
    )


def test_addresses_inside_the_network_are_refused(
    backend: Backend, stub: StubServer, database_url: str, tmp_path: Path
) -> None:
    with Backend(database_url, tmp_path, allow_hosts="") as strict:
        for url in (f"{stub.url}/hook", "http://169.254.169.254/latest", "http://[::ffff:10.0.0.1]/"):
            refused(strict.api.post("/webhooks", json={"url": url}), "url", "url_not_allowed")
        for url in ("ftp://example.org", "file:///etc/passwd", "http://user:secret@example.org/", "x"):
            assert strict.api.post("/webhooks", json={"url": url}).status_code == 422, url
    # A name that leads elsewhere by now is looked up, and refused, at every try.
    made = make(backend, stub)
    backend.api.post(f"/webhooks/{made['id']}/test")
    send(backend, guard="")
    [delivery] = log_of(backend, made["id"])
    assert (delivery["state"], delivery["log"][0]["status"]) == ("pending", None)
    assert "inside a network" in delivery["log"][0]["error"]
    assert stub.requests == []


def test_a_rotated_secret_and_the_old_one_both_sign(backend: Backend, stub: StubServer) -> None:
    made = make(backend, stub)
    rotated = backend.api.post(f"/webhooks/{made['id']}/rotate-secret").json()["secret"]
    assert rotated != made["secret"]
    backend.api.post(f"/webhooks/{made['id']}/test")
    send(backend)
    assert received(stub, made["secret"]) == received(stub, rotated)
    backend.sql("UPDATE webhook SET old_secret_until = now() WHERE id = %s", made["id"])
    backend.api.post(f"/webhooks/{made['id']}/test")
    send(backend)
    with pytest.raises(WebhookVerificationError):
        received(stub, made["secret"])


def test_secrets_are_returned_once_and_not_stored_in_plain(backend: Backend, stub: StubServer) -> None:
    made = make(backend, stub)
    assert made["secret"].startswith("whsec_")
    texts = backend.api.get(f"/webhooks/{made['id']}").text + backend.api.get("/webhooks").text
    stored = json.dumps(backend.sql("SELECT row_to_json(webhook) FROM webhook"))
    assert made["secret"].removeprefix("whsec_") not in texts + stored
    for role in ("member", "viewer"):
        with backend.add_key(role) as client:
            for path in ("/webhooks", f"/webhooks/{made['id']}", f"/webhooks/{made['id']}/deliveries"):
                assert client.get(path).status_code == 403, (role, path)
            assert client.post("/webhooks", json={"url": f"{stub.url}/x"}).status_code == 403


def test_an_edit_of_something_that_has_changed_is_refused(backend: Backend, stub: StubServer) -> None:
    path = f"/webhooks/{make(backend, stub)['id']}"
    tag = backend.api.get(path).headers["etag"]
    first = backend.api.patch(path, json={"description": "a"}, headers={"if-match": tag})
    assert first.status_code == 200
    late = backend.api.patch(path, json={"description": "b"}, headers={"if-match": tag})
    assert (late.status_code, late.json()["error"]["code"]) == (412, "precondition_failed")
    assert backend.api.get(path).json()["description"] == "a"
    new = first.headers["etag"]
    assert backend.api.patch(path, json={"description": "c"}, headers={"if-match": new}).status_code == 200


def test_the_sdk_manages_them(backend: Backend, stub: StubServer) -> None:
    stub.on("POST", "/hook", Answer(200))
    with Reinforge(backend.url, OWNER_KEY) as client:
        made = client.webhooks.create(f"{stub.url}/hook", events=["fine_tuning.job.failed"])
        assert [webhook.id for webhook in client.webhooks.list()] == [made.id]
        assert client.webhooks.change(made.id, events=[]).events == []
        sent = client.webhooks.test(made.id)
        send(backend)
        detail = client.webhooks.delivery(made.id, sent.id)
        assert (detail.state, detail.body["type"]) == ("delivered", "webhook.test")
        assert client.webhooks.resend(made.id, sent.id).state == "pending"
        assert [item.id for item in client.webhooks.deliveries(made.id)] == [sent.id]
        assert client.webhooks.rotate_secret(made.id).secret != made.secret
        client.webhooks.delete(made.id)
        assert list(client.webhooks.list()) == []
    assert isinstance(stub.requests[0], RecordedRequest)
