"""JSON that is nested deeply is refused with a message, wherever it comes in."""

import json

import pytest

from tests.backend.server import Backend
from tests.backend.tenancy import operations

NESTED = {"lists": (b"[", b"]"), "objects": (b'{"a":', b"}")}


def nested(depth: int, kind: str = "lists") -> bytes:
    begin, end = NESTED[kind]
    return begin * depth + b"1" + end * depth


@pytest.mark.parametrize("kind", NESTED)
def test_every_operation_refuses_it(backend: Backend, kind: str) -> None:
    headers = {"content-type": "application/json", "if-match": "*"}
    for operation in operations(backend):
        if "application/json" not in operation.spec.get("requestBody", {}).get("content", {}):
            continue
        address = operation.path
        for name in ("id", "step", "name", "version", "member", "part", "number", "grader"):
            address = address.replace(f"{{{name}}}", "1")
        for depth in (300, 1000, 20_000):
            inside = nested(depth, kind)
            for body in (inside, b'{"name": %s, "tools": %s, "model": %s}' % (inside, inside, inside)):
                answer = backend.api.request(
                    operation.method, backend.url + address, content=body, headers=headers
                )
                assert 400 <= answer.status_code < 500, (operation.id, depth, answer.text)
                assert answer.json()["error"]["message"]


def test_tools_of_a_chat_reach_no_worker(backend: Backend) -> None:
    backend.add_model()
    body = (
        b'{"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function",'
    )
    body += b'"function": {"name": "f", "parameters": {"type": "object", "properties": %s}}}]}' % nested(
        400, "objects"
    )
    with backend.rpc_worker() as rpc_worker, backend.client("rf-test-owner-key", "/v1") as wire:
        answer = wire.post("/chat/completions", content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, "nested" in answer.json()["error"]["message"]) == (400, True)
        assert not rpc_worker.calls


def test_a_worker_is_refused_too(backend: Backend) -> None:
    with backend.rpc_worker():
        trainer = backend.claim(backend.create_job())
    body = b'{"attempt": 1, "records": [{"sequence": 1, "ts": 1, "kind": "started", "step": 0, "steps": 3,'
    body += b' "facts": %s}]}'
    answer = trainer.client.post("/records", content=body % nested(400, "objects"))
    assert answer.status_code == 422


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("depth", [100, 300, 700, 5000])
def test_rows_with_deep_tools(backend: Backend, depth: int, text: bool) -> None:
    """Tools of a dataset are no request's body, and may be JSON in a text. They reach no worker either."""
    tool = b'[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": %s}}}]'
    tools = tool % nested(depth, "objects")
    if text:
        tools = json.dumps(tools.decode()).encode()
    row = b'{"prompt": "hi", "tools": %s}\n' % tools
    made = backend.api.post("/datasets", files={"file": ("rows.jsonl", row)})
    assert made.status_code == 422, made.text
    assert "nested" in made.text or "not JSON" in made.text
