"""Tools without a worker: the server reads code and runs none."""

from tests.backend.server import Backend

ADD = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'


def test_the_server_runs_no_code(backend: Backend) -> None:
    source = {"type": "python", "source": ADD}
    body = {"environment": {"type": "tools", "sources": [source]}, "calls": [{"name": "add"}]}
    response = backend.api.post("/tools/run", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "no_worker")
    sources = [source, {"mcp": "https://example.com/mcp"}]
    checked = backend.api.post("/tools/check", json={"sources": sources}).json()
    assert [(one["source"], one["code"]) for one in checked["problems"]] == [(1, "no_worker")]
    assert [one["tool"]["function"]["name"] for one in checked["tools"]] == ["add"]
