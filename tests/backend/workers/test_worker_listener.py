"""The worker API's own address, and its token while it is replaced."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from backend import __main__ as command
from backend.settings import Settings
from reinforge.errors import InvalidInput
from reinforge.platform.environment import PlatformEnvironment
from reinforge.schemas.worker_api import PROTOCOL, PROTOCOL_HEADER
from tests.backend.server import OWNER_KEY, WORKER_TOKEN, Backend

REGISTER = {
    "id": "wrk_own",
    "kind": "trainer",
    "hostname": "here",
    "version": "0",
    "jail": "L",
    "device": "cpu",
}


@pytest.fixture(scope="module")
def apart(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Backend, str]]:
    """A backend whose worker API has a port of its own and that accepts two tokens, and that port's address."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as own:
        address = f"127.0.0.1:{own.getsockname()[1]}"
        backend = Backend(
            module_database_url,
            tmp_path_factory.mktemp("home"),
            worker_listen=address,
            previous_worker_token="the-previous-one",
        )
        backend.sockets.append(own)
        with backend:
            yield backend, f"http://{address}"


def register(url: str, token: str) -> int:
    headers = {"authorization": f"Bearer {token}", PROTOCOL_HEADER: str(PROTOCOL)}
    return httpx.post(f"{url}/worker/v1/workers", json=REGISTER, headers=headers).status_code


def test_the_worker_api_is_at_its_own_address_alone(apart: tuple[Backend, str]) -> None:
    backend, own = apart
    assert register(own, WORKER_TOKEN) == 204
    assert register(backend.url, WORKER_TOKEN) == 404
    key = {"authorization": f"Bearer {OWNER_KEY}"}
    assert httpx.get(f"{backend.url}/api/v1/me", headers=key).status_code == 200
    for path in ("/api/v1/me", "/v1/models", "/", "/docs", "/openapi.json", "/client/"):
        hidden = httpx.get(own + path, headers=key)
        assert (hidden.status_code, hidden.json()["error"]["code"]) == (404, "unknown_path"), path
        assert hidden.json()["error"]["request_id"]
    forged = httpx.get(f"{own}/api/v1/me", headers=key | {"host": backend.url.removeprefix("http://")})
    assert forged.status_code == 404, "whatever host the request names"
    assert httpx.get(f"{own}/healthz").status_code == httpx.get(f"{backend.url}/healthz").status_code == 200


def test_the_previous_token_works_while_the_settings_name_it(apart: tuple[Backend, str]) -> None:
    backend, own = apart
    assert register(own, "the-previous-one") == register(own, WORKER_TOKEN) == 204
    assert register(own, "another") == 401
    previous, backend.settings.previous_worker_token = backend.settings.previous_worker_token, None
    assert register(own, "the-previous-one") == 401
    backend.settings.previous_worker_token = previous


def test_both_addresses_are_opened_and_differ() -> None:
    opened = command._listening("127.0.0.1", 0, Settings(worker_listen="127.0.0.1:18399"))
    assert opened is not None
    assert [listener.getsockname()[1] == 18399 for listener in opened] == [False, True]
    for listener in opened:
        listener.close()
    assert command._listening("127.0.0.1", 8321, Settings()) is None
    with pytest.raises(InvalidInput):
        command._listening("127.0.0.1", 8321, Settings(worker_listen="127.0.0.1:8321"))


@pytest.mark.parametrize(
    ("listen", "url"),
    [("", "http://127.0.0.1:8321"), ("10.0.0.1:9", "http://10.0.0.1:9"), ("0.0.0.0:9", "http://127.0.0.1:9")],
)
def test_workers_of_reinforge_up_are_sent_there(tmp_path: Path, listen: str, url: str) -> None:
    variables = {"REINFORGE_WORKER_LISTEN": listen}
    home, local = tmp_path, "http://127.0.0.1:8321"
    environment = PlatformEnvironment(home, local, "postgresql://", tmp_path / "s.sock", source=variables)
    assert environment.worker()["REINFORGE_URL"] == url
