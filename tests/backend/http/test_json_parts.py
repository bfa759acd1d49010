"""JSON of very many small parts, whose reading would stop everybody else's requests, is refused unread."""

import json

import httpx
import orjson
import pytest

from backend.http.strict_json import MOST_COMMAS, MOST_PARTS, MOST_PARTS_OF_STRANGERS
from tests.backend.server import Backend

MIB = 1024**2


@pytest.mark.parametrize("part", [b"{}", b"[]", b"0"])
def test_too_many_parts_are_refused_before_they_are_read(
    backend: Backend, part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    loads = orjson.loads
    monkeypatch.setattr(
        "backend.http.strict_json.orjson.loads", lambda body: read.append(len(body)) or loads(body)
    )
    count = MOST_COMMAS + 2 if part == b"0" else MOST_PARTS
    body = b'{"parts": [%s]}' % b",".join([part] * count)
    answer = backend.api.post("/jobs", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "too_many_parts")
    assert len(body) not in read


def test_a_stranger_has_fewer(backend: Backend) -> None:
    """What signs in is one object."""
    body = b'{"parts": [%s]}' % b",".join([b"{}"] * MOST_PARTS_OF_STRANGERS)
    with httpx.Client(base_url=f"{backend.url}/api/v1", trust_env=False) as stranger:
        answer = stranger.post("/sign-in", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "too_many_parts")
    answer = backend.api.post("/jobs", content=body, headers={"content-type": "application/json"})
    assert answer.json()["error"]["code"] != "too_many_parts"


def test_a_large_text_is_no_matter(backend: Backend) -> None:
    source = "def grade(sample, item):\n    return 1.0\n" + "# a comment, with commas, of code\n" * 7000
    spec = {"source": source, "rows": [{"n": 1}] * 10_000, "sources": [source] * 10}
    body = json.dumps(spec).encode()
    assert len(body) > 2 * MIB
    answer = backend.api.post("/jobs", content=body, headers={"content-type": "application/json"})
    assert answer.json()["error"]["code"] != "too_many_parts"
