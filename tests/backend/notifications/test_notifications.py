"""E-mail over a real SMTP server: confirmed, subscribed, sent by the background process, ended."""

import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.models import Job
from backend.notifications.delivery import MailDeliveries, forget_old, pause
from backend.notifications.events import HOURLY
from backend.settings import Settings
from backend.webhooks.events import queue_job_event
from tests.backend.people import refusal, sign_in
from tests.backend.server import Backend, wait_until
from tests.backend.webhooks.test_webhooks import finish_job
from tests.support.smtp_server import SmtpServer, certificate

USER, PASSWORD = "reinforge", "secret of the mail server"
SUCCEEDED = "fine_tuning.job.succeeded"


@pytest.fixture(scope="module")
def mail_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmtpServer]:
    cert, key = certificate(tmp_path_factory.mktemp("tls"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    with pytest.MonkeyPatch.context() as patch, SmtpServer(tls, (USER, PASSWORD)) as server:
        patch.setenv("SSL_CERT_FILE", str(cert))
        yield server


@pytest.fixture(scope="module")
def backend(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory, mail_server: SmtpServer
) -> Iterator[Backend]:
    smtp: dict[str, Any] = {
        "smtp_host": "127.0.0.1", "smtp_port": mail_server.port, "smtp_user": USER, "smtp_password": PASSWORD,
        "smtp_from": "Reinforge <reinforge@example.org>", "url": "https://rf.example.org",
    }  # fmt: skip
    with Backend(module_database_url, tmp_path_factory.mktemp("home"), **smtp) as running:
        running.register()
        yield running


@pytest.fixture
def person(backend: Backend, mail_server: SmtpServer) -> Iterator[httpx.Client]:
    """The browser of a new member with an e-mail address."""
    backend.sql("DELETE FROM mail")
    mail_server.mails.clear()
    mail_server.commands.clear()
    mail_server.replies.clear()
    member = backend.api.post("/members", json={"name": f"Ada {time.monotonic_ns()}"}).json()
    with sign_in(backend, member["url"]) as client:
        set_email(client, f"ada{time.monotonic_ns()}@example.org")
        yield client
    backend.api.delete(f"/members/{member['id']}")


def set_email(client: httpx.Client, email: str) -> None:
    body = {"email": email, "current_password": "x"}
    answer = client.patch("/me", json=body, headers={"if-match": "*"})
    assert answer.status_code == 200, answer.text


def send(backend: Backend, **changes: Any) -> int:
    """What the background process does every two seconds, once."""

    async def once() -> int:
        database = Database(backend.database_url, pool_size=2)
        settings = backend.settings.model_copy(update=changes)
        try:
            return await MailDeliveries(database, Sealer(settings), settings).send_due()
        finally:
            await database.close()

    return asyncio.run(once())


def link(backend: Backend, text: str, page: str) -> str:
    """The address in a message, at the test's server."""
    [url] = set(re.findall(rf"https://rf\.example\.org/mail/{page}\?token=\S+", text))
    return url.replace("https://rf.example.org", backend.url)


def confirm(backend: Backend, mail_server: SmtpServer, client: httpx.Client) -> None:
    assert client.post("/me/notifications/confirmation").status_code == 202
    assert send(backend) == 1
    url = link(backend, mail_server.mails.pop().message.get_body(("plain",)).get_content(), "confirm")
    assert backend.bare.post(url).status_code == 200


def subscribe(client: httpx.Client, *events: str) -> httpx.Response:
    return client.patch("/me/notifications", json={"events": events}, headers={"if-match": "*"})


def states(backend: Backend) -> list[tuple[Any, ...]]:
    return backend.sql("SELECT state, tries, error FROM mail ORDER BY created_at, id")


def test_a_jobs_end_is_sent_to_a_confirmed_address_over_tls(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    before = person.get("/me/notifications").json()
    assert (before["available"], before["confirmed"], before["events"]) == (True, False, [])
    assert refusal(subscribe(person, SUCCEEDED)) == (409, "email_not_confirmed")
    assert person.post("/me/notifications/confirmation").json()["confirmation"] == "pending"
    send(backend)
    confirmation = mail_server.mails.pop()
    url = link(backend, confirmation.message.get_body(("plain",)).get_content(), "confirm")
    # Programs that follow the links of e-mails change nothing.
    assert "<button>Confirm</button>" in backend.bare.get(url).text
    assert person.get("/me/notifications").json()["confirmed"] is False
    assert backend.bare.post(url).status_code == 200
    assert person.get("/me/notifications").json()["confirmed"] is True
    assert subscribe(person, SUCCEEDED).json()["events"] == [SUCCEEDED]
    job = finish_job(backend)
    assert send(backend) == 1  # not its start
    [envelope] = mail_server.mails
    assert (envelope.encrypted, envelope.user) == (True, USER)
    message = envelope.message
    assert message["to"] == before["email"]
    assert message["subject"].startswith("[Reinforge] Succeeded: ")
    plain, html = (message.get_body((kind,)).get_content() for kind in ("plain", "html"))
    assert f"https://rf.example.org/jobs/{job}" in plain
    assert f'href="https://rf.example.org/jobs/{job}"' in html
    assert send(backend) == 0  # once
    assert states(backend)[-1][:2] == ("sent", 1)


def test_a_hostile_name_adds_no_header_and_no_markup(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    confirm(backend, mail_server, person)
    subscribe(person, SUCCEEDED)
    name = "sums\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script>\u202e\u2028Ünïcode"
    job = finish_job(backend)
    backend.sql("DELETE FROM mail")
    backend.sql("UPDATE job SET name = %s WHERE id = %s", name, job)
    queue_event(backend, job)
    send(backend)
    [envelope] = mail_server.mails
    assert len(envelope.recipients) == 1
    message = envelope.message
    assert message["bcc"] is None
    assert message["subject"].startswith("[Reinforge] Succeeded: sums Bcc: victim@example.org <script>")
    assert message["subject"].endswith("Ünïcode")
    html = message.get_body(("html",)).get_content()
    assert "<script>" not in html and "&lt;script&gt;" in html


def queue_event(backend: Backend, job: str, times: int = 1) -> None:
    async def once() -> None:
        database = Database(backend.database_url, pool_size=1)
        async with database.transaction() as session:
            for _ in range(times):
                await queue_job_event(session, await session.get_one(Job, job))
        await database.close()

    asyncio.run(once())


def test_it_is_tried_again_with_the_same_message_id(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    person.post("/me/notifications/confirmation")
    mail_server.replies += ["451 try later", "421 busy"]
    for _ in range(3):
        backend.sql("UPDATE mail SET next_at = now()")
        assert send(backend) == 1
    assert states(backend) == [("sent", 3, None)]
    assert mail_server.commands.count("DATA") == 3
    assert [24 <= pause(1) <= 36, pause(30) <= 3600 * 1.2] == [True] * 2


def test_a_refused_message_or_receiver_ends_at_once(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    mail_server.replies.append("554 looks like spam")
    person.post("/me/notifications/confirmation")
    send(backend)
    assert states(backend) == [("failed", 1, "554 looks like spam")]
    assert person.get("/me/notifications").json()["confirmation"] == "failed"
    set_email(person, "nobody@example.org")
    person.post("/me/notifications/confirmation")
    send(backend)
    assert states(backend)[-1] == ("failed", 1, "550 no such user")


def test_no_password_and_no_message_without_a_trusted_certificate(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.post("/me/notifications/confirmation")
    monkeypatch.delenv("SSL_CERT_FILE")
    send(backend)
    with SmtpServer() as plain:  # offers no STARTTLS
        backend.sql("UPDATE mail SET next_at = now()")
        send(backend, smtp_port=plain.port)
        assert (plain.mails, set(plain.commands) & {"AUTH", "MAIL"}) == ([], set())
    assert (mail_server.mails, set(mail_server.commands) & {"AUTH", "MAIL"}) == ([], set())
    [(state, tries, error)] = states(backend)
    assert (state, tries) == ("pending", 2)
    assert "STARTTLS" in error


def test_a_wrong_password_is_not_repeated_in_the_error(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    person.post("/me/notifications/confirmation")
    send(backend, smtp_password=SecretStr("wrong one"))
    [(state, _, error)] = states(backend)
    assert state == "pending"
    assert "535" in error and "wrong one" not in error


def test_settings_that_would_leak_or_fail_are_refused() -> None:
    host = {"smtp_host": "mail.example.org"}
    for fields in (
        host,
        host | {"smtp_from": "no address"},
        host | {"smtp_from": "a@b.org", "smtp_user": "u", "smtp_password": "visible?", "smtp_tls": "none"},
        host | {"smtp_from": "a@b.org", "smtp_user": "u"},
    ):
        with pytest.raises(ValidationError, match="REINFORGE_SMTP") as refused:
            Settings(**fields)
        assert "visible?" not in str(refused.value)


def test_unsubscribing_needs_no_sign_in_and_drops_what_waits(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    confirm(backend, mail_server, person)
    subscribe(person, SUCCEEDED)
    finish_job(backend)
    send(backend)
    message = mail_server.mails.pop().message
    assert message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    url = link(backend, message["list-unsubscribe"].strip("<>"), "unsubscribe")
    finish_job(backend)  # waits
    assert backend.bare.get(url).status_code == 200
    assert person.get("/me/notifications").json()["events"] == [SUCCEEDED]
    assert backend.bare.post(url, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert person.get("/me/notifications").json()["events"] == []
    send(backend)
    assert mail_server.mails == []
    assert states(backend)[-1] == ("failed", 0, "no longer wanted")


def test_another_address_has_to_be_confirmed_again(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    person.post("/me/notifications/confirmation")
    send(backend)
    old = link(backend, mail_server.mails.pop().message.get_body(("plain",)).get_content(), "confirm")
    backend.bare.post(old)
    subscribe(person, SUCCEEDED)
    set_email(person, "other@example.org")
    assert person.get("/me/notifications").json()["confirmed"] is False
    finish_job(backend)
    assert send(backend) == 0
    assert backend.bare.post(old).status_code == 404  # of the address before
    for token in ("x", old.partition("token=")[2][:-4] + "AAAA"):
        assert backend.bare.post(f"/mail/confirm?token={token}").status_code == 404
        assert backend.bare.post(f"/mail/unsubscribe?token={token}").status_code == 404


def test_a_confirmation_that_is_requested_twice_with_one_key_is_sent_once(
    backend: Backend, person: httpx.Client
) -> None:
    once = {"idempotency-key": "one press"}
    for _ in range(2):
        assert person.post("/me/notifications/confirmation", headers=once).status_code == 202
    assert len(states(backend)) == 1


def test_addresses_are_not_flooded(backend: Backend, mail_server: SmtpServer, person: httpx.Client) -> None:
    for _ in range(5):
        assert person.post("/me/notifications/confirmation").status_code == 202
    assert refusal(person.post("/me/notifications/confirmation")) == (429, "too_many_mails")
    backend.sql("DELETE FROM mail")
    confirm(backend, mail_server, person)
    subscribe(person, SUCCEEDED)
    job = finish_job(backend)
    queue_event(backend, job, HOURLY + 5)
    assert len(backend.sql("SELECT 1 FROM mail WHERE type = %s", SUCCEEDED)) == HOURLY
    [(last,)] = backend.sql("SELECT data FROM mail WHERE data ? 'last_of_hour'")
    assert last["id"] == job


def test_old_mails_are_deleted_sent_or_not(backend: Backend, person: httpx.Client) -> None:
    person.post("/me/notifications/confirmation")
    person.post("/me/notifications/confirmation")
    backend.sql(
        "UPDATE mail SET created_at = now() - interval '8 days' WHERE id = (SELECT min(id) FROM mail)"
    )

    async def forget() -> None:
        database = Database(backend.database_url, pool_size=1)
        await forget_old(database)
        await database.close()

    asyncio.run(forget())
    assert len(states(backend)) == 1


def test_keys_have_no_address_and_members_of_other_projects_get_nothing(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    assert backend.api.get("/me/notifications").json()["email"] is None
    assert refusal(subscribe(backend.api, SUCCEEDED)) == (409, "no_account")
    assert refusal(backend.api.post("/me/notifications/confirmation")) == (409, "no_account")
    confirm(backend, mail_server, person)
    subscribe(person, SUCCEEDED)
    [(member, project)] = backend.sql("SELECT id, project_id FROM member WHERE mail_events <> '[]'")
    backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_b', 'b', now()) ON CONFLICT DO NOTHING"
    )
    backend.sql("UPDATE member SET project_id = 'proj_b' WHERE id = %s", member)
    finish_job(backend)
    assert send(backend) == 0
    backend.sql("UPDATE member SET project_id = %s WHERE id = %s", project, member)
    finish_job(backend)
    backend.api.delete(f"/members/{member}")
    assert send(backend) == 0


def test_a_killed_background_process_loses_nothing_and_sends_once(
    backend: Backend, mail_server: SmtpServer, person: httpx.Client
) -> None:
    person.post("/me/notifications/confirmation")
    smtp = {"HOST": "127.0.0.1", "PORT": "9", "FROM": "a@example.org"}  # nobody listens
    env = os.environ | {f"REINFORGE_SMTP_{name}": value for name, value in smtp.items()}
    env |= {"REINFORGE_HOME": str(backend.home), "DATABASE_URL": backend.database_url}
    process = subprocess.Popen(
        [sys.executable, "-m", "backend", "background"], env=env, cwd=Path(__file__).parents[3]
    )
    try:
        wait_until(lambda: states(backend)[0][1] == 1, "the first attempt", 90)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    backend.sql("UPDATE mail SET next_at = now()")
    assert send(backend) == 1
    assert send(backend) == 0
    assert len(mail_server.mails) == 1
    assert json.dumps(backend.sql("SELECT data FROM mail")).count("token") == 0  # links are not stored
