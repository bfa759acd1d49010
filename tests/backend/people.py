"""People of the backend's tests: browsers that follow addresses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.backend.server import Backend


def token_of(url: str) -> str:
    """The token of a one-time address."""
    return parse_qs(urlsplit(url).query)["token"][0]


@contextmanager
def browser(backend: Backend) -> Iterator[httpx.Client]:
    """One in which nobody is signed in; it says where its requests come from, as browsers do."""
    headers = {"sec-fetch-site": "same-origin", "user-agent": "test browser"}
    with httpx.Client(base_url=f"{backend.url}/api/v1", headers=headers, timeout=30) as client:
        yield client


@contextmanager
def sign_in(backend: Backend, url: str) -> Iterator[httpx.Client]:
    """A browser that followed the address."""
    with browser(backend) as client:
        response = client.post("/sign-in", json={"token": token_of(url)})
        assert response.status_code == 200, response.text
        yield client


@contextmanager
def starter(backend: Backend) -> Iterator[httpx.Client]:
    """The browser of whoever started the platform."""
    url = backend.sql(
        "INSERT INTO sign_in_token (sha256, purpose, project_id, expires_at, created_at)"
        " SELECT encode(sha256(%s::bytea), 'hex'), 'start', id, now() + interval '1 hour', now()"
        " FROM project WHERE name = 'default' ON CONFLICT DO NOTHING RETURNING sha256",
        "token of the start",
    )
    assert url
    with sign_in(backend, "http://x/?token=token+of+the+start") as client:
        yield client


def made(response: httpx.Response, status: int = 201) -> dict[str, Any]:
    assert response.status_code == status, response.text
    body: dict[str, Any] = response.json()
    return body


def refusal(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]
