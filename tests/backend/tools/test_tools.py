"""Schemas of tools and calls outside a job, by the API; the sandbox is real."""

from typing import Any

from tests.backend.server import Backend
from tests.support.mcp_stub import McpStub

CART = '''
def add(article: str, count: int = 1, *, state: dict, item: dict) -> str:
    """Put articles into the cart.

    Args:
        count: How many.
    """
    print("adding", article)
    state["count"] = state.get("count", 0) + count
    if state["count"] > item["most"]:
        raise ValueError("the cart is full")
    return f"{state['count']} in the cart"
'''
GAME = '''
class Game:
    def reset(self, word, **row):
        self.word, self.won = word, False
        return f"{len(word)} letters"

    def guess(self, word: str) -> str:
        """Guess the word."""
        self.won = word == self.word
        return "right" if self.won else "wrong"

    def get_reward(self):
        return float(self.won)
'''


def python(source: str, kind: str = "python") -> dict[str, Any]:
    return {"type": kind, "source": source}


def run(backend: Backend, source: dict[str, Any], *calls: tuple[str, str], **fields: Any) -> dict[str, Any]:
    limits = fields.pop("limits", {})
    body = {
        "environment": {"type": "tools", "sources": [source], **limits},
        "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        **fields,
    }
    response = backend.api.post("/tools/run", json=body)
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()
    return result


def test_schemas_are_those_of_a_job(backend: Backend) -> None:
    sources = [python(CART), python(GAME, "class")]
    checked = backend.api.post("/tools/check", json={"sources": sources}).json()
    assert checked["ok"] and [entry["source"] for entry in checked["tools"]] == [0, 1]
    add, guess = (entry["tool"]["function"] for entry in checked["tools"])
    assert list(add["parameters"]["properties"]) == ["article", "count"] and guess["name"] == "guess"


def test_a_problem_has_its_source_and_line_and_others_still_have_schemas(backend: Backend) -> None:
    without_hint = 'def double(x):\n    """Double."""\n    return 2 * x\n'
    sources = [python(CART), python(without_hint), python(CART), {"python": "tools.py"}]
    checked = backend.api.post("/tools/check", json={"sources": sources}).json()
    problems = [(one["source"], one["line"], one["code"]) for one in checked["problems"]]
    assert problems == [
        (1, 1, "tool_without_hint"),
        (2, None, "tool_name_twice"),
        (3, None, "path_not_allowed"),
    ]
    assert "tools_1.py" not in checked["problems"][0]["message"] and checked["tools"]


def test_calls_run_with_state_and_history(live_backend: Backend) -> None:
    item = {"most": 3}
    first = run(live_backend, python(CART), ("add", '{"article": "pen", "count": 2}'), item=item)
    [call] = first["calls"]
    assert (call["status"], call["result"], call["detail"]) == ("ok", "2 in the cart", "adding pen\n")
    assert call["milliseconds"] > 0 and first["jail"] and first["end"] is None
    more = {"item": item, "state": first["state"], "history": first["history"], "turn": 1, "calls_before": 1}
    second = run(live_backend, python(CART), ("add", '{"article": "book", "count": 2}'), **more)
    [failed] = second["calls"]
    assert (failed["id"], failed["status"], failed["result"]) == (
        "call_1",
        "exception",
        "ValueError: the cart is full",
    )
    assert "line 11, in add" in failed["detail"]


def test_a_class_is_started_replayed_and_scored(live_backend: Backend) -> None:
    game, item = python(GAME, "class"), {"word": "pen"}
    begun = run(live_backend, game, start=True, item=item)
    assert begun["start"] == {"status": "ok", "text": "3 letters"} and begun["calls"] == []
    wrong = run(live_backend, game, ("guess", '{"word": "ink"}'), item=item, state=begun["state"], score=True)
    assert (wrong["calls"][0]["result"], wrong["score"]["value"]) == ("wrong", 0.0)
    more = {"state": wrong["state"], "history": wrong["history"], "score": True}
    assert run(live_backend, game, ("guess", '{"word": "pen"}'), item=item, **more)["score"]["value"] == 1.0


def test_calls_that_a_job_would_not_run_do_not_run(live_backend: Backend) -> None:
    calls = [("add", "{"), ("steal", "{}"), ("add", '{"article": 1}'), ("add", '{"article": "pen"}')]
    limits = {"max_tool_calls": 3, "invalid_call": "tell"}
    result = run(live_backend, python(CART), *calls, item={"most": 3}, limits=limits)
    statuses = [call["status"] for call in result["calls"]]
    assert statuses == ["invalid_json", "unknown_tool", "bad_arguments", "too_many"]
    assert (result["end"], result["history"]) == ("max_tool_calls", [])


def test_a_tool_that_never_returns_is_stopped(live_backend: Backend) -> None:
    source = 'def wait() -> str:\n    """Wait."""\n    while True:\n        pass\n'
    limits = {"tool_failure": "end"}
    result = run(live_backend, python(source) | {"timeout_seconds": 0.2}, ("wait", "{}"), limits=limits)
    assert (result["calls"][0]["status"], result["end"]) == ("timeout", "environment")


def test_the_worker_calls_servers(live_backend: Backend) -> None:
    with McpStub() as stub:
        source = {"mcp": stub.url}
        checked = live_backend.api.post("/tools/check", json={"sources": [source]}).json()
        assert [entry["tool"]["function"]["name"] for entry in checked["tools"]] == ["search", "echo"]
        result = run(live_backend, source, ("echo", '{"text": "hello"}'))
        assert result["calls"][0]["status"] == "ok" and result["jail"] is None


def test_requests_are_refused_at_their_field(backend: Backend) -> None:
    environment = {"type": "tools", "sources": [python("def f(x):\n    return x\n")]}
    response = backend.api.post("/tools/run", json={"environment": environment})
    error = response.json()["error"]
    assert response.status_code == 422 and error["param"] == "environment.sources[0]", error
    for sources in ([], [{"python": "tools.py"}]):
        body = {"environment": {"type": "tools", "sources": sources}}
        assert backend.api.post("/tools/run", json=body).status_code == 422
    many = {"sources": [python(CART)] * 17}
    assert backend.api.post("/tools/check", json=many).status_code == 422


def test_viewers_run_nothing(backend: Backend) -> None:
    body = {"environment": {"type": "tools", "sources": [python(CART)]}}
    with backend.add_key("viewer") as viewer:
        assert viewer.post("/tools/check", json={"sources": []}).status_code == 403
        assert viewer.post("/tools/run", json=body).status_code == 403
