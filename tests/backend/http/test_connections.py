"""Connections to the database: none is held while something slow runs, and no request takes two."""

import asyncio
import contextlib
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio.to_thread
import httpx
import pytest
from sqlalchemy import event

from backend.users import passwords
from tests.backend.people import browser, made, sign_in, token_of
from tests.backend.server import Backend, wait_until
from tests.backend.tenancy import Stranger, operations

LIVE = ("/stream", "/sample")


@pytest.fixture
def second_connections(backend: Backend) -> Iterator[Counter[str]]:
    """Where a task took a connection while it held one."""
    pool = backend.app.state.database.engine.sync_engine.pool
    held: Counter[asyncio.Task[Any]] = Counter()
    nested: Counter[str] = Counter()

    def checkout(_connection: object, record: Any, _proxy: object) -> None:
        task = record.info["task"] = asyncio.current_task()
        assert task is not None
        held[task] += 1
        if held[task] > 1:
            nested["\n".join(traceback.format_stack(limit=40))] += 1

    def checkin(_connection: object, record: Any) -> None:
        if (task := record.info.pop("task", None)) is not None:
            held[task] -= 1

    event.listen(pool, "checkout", checkout)
    event.listen(pool, "checkin", checkin)
    yield nested
    event.remove(pool, "checkout", checkout)
    event.remove(pool, "checkin", checkin)


def test_no_operation_takes_a_second_connection(
    rpc_backend: Backend, second_connections: Counter[str]
) -> None:
    """One that holds a connection and waits for another locks the pool up as soon as all do the same."""
    stranger, checked = Stranger(rpc_backend), 0
    stranger.api.timeout = 2  # some wait for a worker that is not here
    for operation in operations(rpc_backend):
        if operation.path.endswith(LIVE) or operation.id == "deleteProject":
            continue
        with contextlib.suppress(httpx.ReadTimeout):
            stranger.ask(operation, stranger.api)
        checked += 1
    assert +second_connections == {}
    assert checked > 100


@pytest.fixture
def slow_passwords(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Passwords are compared and hashed when the test says so."""
    go_on = threading.Event()

    at_once = passwords._in_child

    async def slow(*values: Any) -> Any:
        assert await anyio.to_thread.run_sync(go_on.wait, 120)
        return await at_once(*values)

    monkeypatch.setattr(passwords, "_in_child", slow)
    yield go_on
    go_on.set()


def in_use(backend: Backend) -> int:
    return int(backend.app.state.database.engine.sync_engine.pool.checkedout())


def test_wrong_sign_ins_side_by_side_hold_no_connection(
    backend: Backend, slow_passwords: threading.Event
) -> None:
    """Forty strangers: some wait for their turn, the others are told to come back, and a key works all the while."""

    def guess(client: httpx.Client, number: int) -> int:
        body = {"email": f"stranger{number}@example.org", "password": "not it at all"}
        return client.post("/sign-in", json=body).status_code

    with browser(backend) as client, ThreadPoolExecutor(40) as pool:
        client.timeout = 120
        guesses = [pool.submit(guess, client, number) for number in range(40)]
        refused = 40 - passwords.MOST_WAITING_HERE
        wait_until(lambda: sum(guess.done() for guess in guesses) == refused, "the queue", 60)
        wait_until(lambda: in_use(backend) == 0, "the connections to be given back")
        assert backend.api.get("/me").status_code == 200
        slow_passwords.set()
    answers = Counter(guess.result() for guess in guesses)
    assert answers == {401: passwords.MOST_WAITING_HERE, 429: refused}
    backend.sql("DELETE FROM sign_in_failure")


def test_hashing_a_password_holds_no_connection(backend: Backend, slow_passwords: threading.Event) -> None:
    """Whoever sets one: with an address, an invitation, or on their own page."""
    member = made(backend.api.post("/members", json={"name": "Hanna"}))
    reset = made(backend.api.post("/members", json={"name": "Rita"}))
    url = made(backend.api.post(f"/members/{reset['id']}/password-reset"), 200)["url"]
    invitation = made(backend.api.post("/invitations", json={}))["url"]
    password = {"password": "correct horse battery"}
    with (
        sign_in(backend, member["url"]) as page,
        browser(backend) as by_address,
        browser(backend) as by_invitation,
        ThreadPoolExecutor(3) as pool,
    ):
        email = {"email": "hanna@example.org"}
        answers = [
            pool.submit(page.patch, "/me", headers={"if-match": "*"}, json=password | email),
            pool.submit(
                by_address.post,
                "/password-reset",
                json=password | {"email": "rita@example.org", "token": token_of(url)},
            ),
            pool.submit(
                by_invitation.post,
                "/invitations/accept",
                json=password | {"email": "ina@example.org", "name": "Ina", "token": token_of(invitation)},
            ),
        ]
        wait_until(lambda: passwords._waiting.total() == 3, "all three to wait for their hash")
        wait_until(lambda: in_use(backend) == 0, "the connections to be given back")
        slow_passwords.set()
        assert [call.result().status_code for call in answers] == [200, 200, 200]
