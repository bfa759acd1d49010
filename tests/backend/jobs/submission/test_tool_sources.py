"""Sources of tools at the creation of a job: servers list theirs, and what cannot be offered is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from reinforge.errors import ReinforgeError
from reinforge.net.webhook_signature import verify
from reinforge.schemas.rpc.tools import LIST_TOOLS
from tests.backend.server import Backend, agree_render, refused
from tests.support.mcp_stub import ECHO, SEARCH, Faults, McpStub
from tests.support.openenv_stub import OpenEnvStub
from worker.rpc.tools import list_tools

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def listed(payload: dict[str, Any]) -> dict[str, Any]:
    """As the RPC worker answers it."""
    try:
        return list_tools(LIST_TOOLS.read_request(payload)).model_dump(mode="json")
    except ReinforgeError as error:
        return error.envelope()


def rendered(payload: dict[str, Any]) -> dict[str, Any]:
    return agree_render(payload) | {"takes_tools": True}


@pytest.fixture(autouse=True)
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_ALLOW_HOSTS", "127.0.0.1")


def python(source: str) -> dict[str, Any]:
    return {"type": "python", "source": source}


def environment(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tools", "sources": list(sources)}


def test_a_job_keeps_the_tools_that_a_server_lists(backend: Backend) -> None:
    with McpStub() as stub, backend.rpc_worker(list_tools=listed, render=rendered) as rpc_worker:
        spec = backend.spec(environment=environment({"mcp": stub.url}, python(ADD)))
        job = backend.api.post("/jobs", json=spec)
        assert job.status_code == 201, job.text
        secret = backend.api.get("/signing-secret").json()["secret"]
        assert stub.bodies and all(verify(secret, headers, body) for headers, body in stub.bodies)
        sent = [payload for kind, payload in rpc_worker.calls if kind == "render"]
        names = ["search", "echo", "add"]
        assert [tool["function"]["name"] for tool in sent[0]["tool_turns"]] == names

        server, _ = backend.job(job.json()["id"])["resolved_spec"]["environment"]["sources"]
        assert [tool["function"]["name"] for tool in server["tools"]] == ["search", "echo"]
        assert server["tools"][0]["function"]["parameters"] == SEARCH["inputSchema"]
        backend.register()
        assert backend.claim(job.json()["id"]).claimed["signing_secret"] == secret

        again = backend.spec(environment=environment(server))
        assert backend.api.post("/jobs", json=again).status_code == 201
        stub.tools = [SEARCH]
        changed = backend.api.post("/jobs", json=again)
        assert "echo is gone" in refused(changed, "environment.sources[0]", "tool_list_changed")["message"]


ADD = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'


def at(method: str, **fault: Any) -> McpStub:
    return McpStub(lambda stub, message: Faults(**fault) if message["method"] == method else None)


@pytest.mark.parametrize(
    ("stub", "code"),
    [
        (at("initialize", hang=True), "tool_server_unreachable"),
        (at("initialize", status=302, headers={"location": "http://127.0.0.1/"}), "tool_server_unreachable"),
        (at("initialize", body=b"<html>"), "tool_server_unusable"),
        (at("tools/list", body=b"x" * (2 << 20)), "tool_server_unreachable"),
        (McpStub(version="1999-01-01"), "mcp_version_unsupported"),
        (McpStub(tools=[ECHO | {"inputSchema": None}]), "tool_schema_invalid"),
    ],
    ids=["hangs", "redirects", "no JSON", "endless", "version", "schema"],
)
def test_a_server_that_cannot_be_used_is_refused(backend: Backend, stub: McpStub, code: str) -> None:
    jobs = backend.count_jobs()
    with stub, backend.rpc_worker(list_tools=listed, render=rendered):
        source = {"mcp": stub.url, "timeout_seconds": 0.5}
        spec = backend.spec(environment=environment(python(ADD), source))
        refused(backend.api.post("/jobs", json=spec), "environment.sources[1]", code)
    assert backend.count_jobs() == jobs


def test_a_job_keeps_the_action_of_an_openenv_server(backend: Backend) -> None:
    with OpenEnvStub() as stub, backend.rpc_worker(list_tools=listed, render=rendered):
        spec = backend.spec(environment=environment({"openenv": stub.url, "columns": ["prompt"]}))
        job = backend.api.post("/jobs", json=spec)
        assert job.status_code == 201, job.text
        (server,) = backend.job(job.json()["id"])["resolved_spec"]["environment"]["sources"]
        assert [tool["function"]["name"] for tool in server["tools"]] == ["step"]
        secret = backend.api.get("/signing-secret").json()["secret"]
        assert all(verify(secret, headers, b"") for headers in stub.handshakes)
        stub.action = stub.action | {"description": "Another game."}
        changed = backend.api.post("/jobs", json=backend.spec(environment=environment(server)))
        refused(changed, "environment.sources[0]", "tool_list_changed")
        lacking = backend.spec(environment=environment({"openenv": stub.url, "columns": ["level"]}))
        refused(backend.api.post("/jobs", json=lacking), "environment.sources[0].columns", "unknown_column")
        stub.schema = b"<html>"
        refused(backend.api.post("/jobs", json=spec), "environment.sources[0]", "tool_server_unusable")


def test_an_address_inside_a_network_is_refused(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REINFORGE_ALLOW_HOSTS")
    with McpStub() as stub, backend.rpc_worker(list_tools=listed, render=rendered):
        spec = backend.spec(environment=environment({"mcp": stub.url}))
        refused(backend.api.post("/jobs", json=spec), "environment.sources[0]", "tool_server_refused")
        assert not stub.requests
        problems = backend.api.post("/jobs/check", json=spec).json()["problems"]
    assert [problem["code"] for problem in problems] == ["tool_server_refused"]


NO_RESET = 'class Game:\n    def guess(self, word: str) -> str:\n        """Guess."""\n        return word\n'


@pytest.mark.parametrize(
    ("sources", "param", "code"),
    [
        ([python("def add(a, b: int) -> int:\n    'Add.'\n")], "environment.sources[0]", "tool_without_hint"),
        ([python("def add(a: int) -> int:\n    pass\n")], "environment.sources[0]", "tool_without_docstring"),
        ([python(ADD), python("def f(")], "environment.sources[1]", "tool_syntax_error"),
        ([python(ADD), python(ADD)], "environment.sources", "tool_name_twice"),
        ([python(ADD), {"mcp": "its tool is `add`"}], "environment.sources", "tool_name_twice"),
        ([{"type": "class", "source": NO_RESET}], "environment.sources[0]", "tool_class_without_reset"),
        ([python(ADD)], "environment.type", "template_not_continuable"),
    ],
    ids=["hint", "docstring", "syntax", "twice", "twice on a server", "reset", "template"],
)
def test_tools_that_cannot_be_offered_are_refused(
    backend: Backend, sources: list[dict[str, Any]], param: str, code: str
) -> None:
    jobs = backend.count_jobs()
    render = agree_render if code == "template_not_continuable" else rendered
    with (
        McpStub(tools=[ECHO | {"name": "add"}]) as stub,
        backend.rpc_worker(list_tools=listed, render=render),
    ):
        sources = [source | {"mcp": stub.url} if "mcp" in source else source for source in sources]
        spec = backend.spec(environment=environment(*sources))
        response = backend.api.post("/jobs", json=spec)
    error = response.json()["error"]
    problem = (
        error["errors"][0] if error["errors"] else error
    )  # what the specification itself shows is listed
    assert (response.status_code, problem["param"], problem["code"]) == (422, param, code), response.text
    assert backend.count_jobs() == jobs
