"""Checks of a submission that only an RPC worker can make: rewards load and prompts fit."""

import json
from typing import Any

import pytest

from reinforge.dataset import NO_PLACE_FOR_TOOLS
from tests.backend.server import REWARD, Backend, agree_render, refused

TWO = [{"name": "a", "spelling": "openai", "line": 1}, {"name": "b", "spelling": "openai", "line": 3}]


def test_the_longest_prompts_are_measured(backend: Backend) -> None:
    rows = [{"prompt": "x" * n} for n in (3, 100, 7)]
    spec = backend.spec(data={"dataset": backend.add_dataset(rows)})
    with backend.rpc_worker() as rpc_worker:
        assert backend.api.post("/jobs", json=spec).status_code == 201
        [rendered] = [payload for kind, payload in rpc_worker.calls if kind == "render"]
        assert [len(row[0]["content"]) for row in rendered["rows"]] == [100, 7, 3]
        assert rendered["model_source"] == "/models/tiny"

        spec["rollout"]["max_completion_tokens"] = 30
        error = refused(backend.api.post("/jobs", json=spec), "data.dataset", "prompt_too_long")
        assert "row 2 " in error["message"]
        assert "100 tokens; at most 98" in error["message"]
        spec["rollout"]["max_prompt_tokens"] = 50
        refused(backend.api.post("/jobs", json=spec), "rollout.max_prompt_tokens", "prompt_too_long")


@pytest.mark.parametrize("has_place", [True, False])
def test_the_tools_of_rows_are_measured_and_a_template_without_tools_is_a_warning(
    backend: Backend, has_place: bool
) -> None:
    tool = {"type": "function", "function": {"name": "add", "description": "x" * 50}}
    rows = [{"prompt": "x" * 30}, {"prompt": "x", "tools": [tool]}]
    spec = backend.spec(data={"dataset": backend.add_dataset(rows)})

    def render(payload: dict[str, Any]) -> dict[str, Any]:
        return agree_render(payload) | {"longest": {"index": 0, "tokens": 9}, "takes_tools": has_place}

    with backend.rpc_worker(render=render) as rpc_worker:
        answer = backend.api.post("/jobs/check", json=spec).json()
    [payload_sent] = [payload for kind, payload in rpc_worker.calls if kind == "render"]
    assert payload_sent["tools"] == [[tool], None]
    assert [len(row[0]["content"]) for row in payload_sent["rows"]] == [1, 30]
    assert (NO_PLACE_FOR_TOOLS in answer["warnings"]) is not has_place


TOOL = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'
TOOLS = {"type": "tools", "sources": [{"type": "python", "source": TOOL}]}


def test_tools_of_the_environment_are_in_every_prompt_and_the_template_is_proved(backend: Backend) -> None:
    def render(payload: dict[str, Any]) -> dict[str, Any]:
        return agree_render(payload) | {"takes_tools": True}

    spec = backend.spec(
        data={"dataset": backend.add_dataset([{"prompt": "x"}, {"prompt": "yy"}])}, environment=TOOLS
    )
    with backend.rpc_worker(render=render) as rpc_worker:
        job = backend.api.post("/jobs", json=spec).json()
    [sent] = [payload for kind, payload in rpc_worker.calls if kind == "render"]
    assert [tools[0]["function"]["name"] for tools in sent["tools"]] == ["add", "add"]
    assert sent["tool_turns"] == sent["tools"][0]
    stored = backend.api.get(f"/jobs/{job['id']}").json()["spec"]["environment"]
    assert stored["sources"][0]["source"] == TOOL


def test_the_template_is_proved_for_a_simulated_user(backend: Backend) -> None:
    user = {"type": "python", "source": "def reply(messages): return None"}
    spec = backend.spec(environment={"type": "tools", "reply": user})
    with backend.rpc_worker() as rpc_worker:
        backend.api.post("/jobs/check", json=spec).raise_for_status()
    [sent] = [payload for kind, payload in rpc_worker.calls if kind == "render"]
    assert (sent["tool_turns"], sent["user_turns"]) == (None, True)
    path = spec | {"environment": {"type": "tools", "reply": {"python": "user.py"}}}
    with backend.rpc_worker():
        refused(backend.api.post("/jobs", json=path), "environment.reply.path", "path_not_allowed")


def test_an_environment_that_cannot_run_is_refused(backend: Backend) -> None:
    spec = backend.spec(environment=TOOLS)

    def cannot_continue(_: dict[str, Any]) -> dict[str, Any]:
        error = {"message": "It cannot.", "code": "template_not_continuable", "param": "environment.type"}
        return {"error": error | {"type": "invalid_request_error", "hint": "Another model.", "errors": []}}

    with backend.rpc_worker(render=cannot_continue):
        refused(backend.api.post("/jobs", json=spec), "environment.type", "template_not_continuable")
    with backend.rpc_worker():  # a template without a place for tools
        refused(backend.api.post("/jobs", json=spec), "environment.type", "template_not_continuable")
    with backend.rpc_worker():
        rows = backend.add_dataset([{"prompt": "x", "tools": [{"name": "f"}]}])
        twice = backend.spec(data={"dataset": rows}, environment=TOOLS)
        refused(backend.api.post("/jobs", json=twice), "environment.type", "tools_twice")
        path = spec | {"environment": {"type": "tools", "sources": [{"type": "python", "path": "t.py"}]}}
        refused(backend.api.post("/jobs", json=path), "environment.sources[0].path", "path_not_allowed")


def test_a_worker_that_measures_no_prompt_is_one_clear_error(backend: Backend) -> None:
    def render(payload: dict[str, Any]) -> dict[str, Any]:
        return agree_render(payload) | {"longest": None}

    spec = backend.spec(data={"dataset": backend.add_dataset([{"prompt": "x"}])}, name="unmeasured")
    with backend.rpc_worker(render=render):
        response = backend.api.post("/jobs", json=spec)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "malformed_rpc")
    assert backend.sql("SELECT 1 FROM job WHERE name = 'unmeasured'") == []


def test_a_dataset_with_bad_tools_is_refused(backend: Backend) -> None:
    text = json.dumps({"prompt": "a", "tools": ["add"]})
    answer = backend.api.post("/datasets", files={"file": ("rows.jsonl", text)})
    assert refused(answer, "file", "invalid_tools")["errors"][0]["line"] == 1


def test_a_row_that_the_template_refuses_is_named_as_the_dataset_counts_it(backend: Backend) -> None:
    def refuse(payload: dict[str, Any]) -> dict[str, Any]:
        row = next(i for i, messages in enumerate(payload["rows"]) if "bad" in messages[0]["content"])
        failure = {"message": "The template does not take it.", "code": "prompt_not_renderable", "row": row}
        error = {
            "message": failure["message"],
            "code": failure["code"],
            "type": "invalid_request_error",
            "hint": "Fix the row.",
            "param": "data.dataset",
            "errors": [failure],
        }
        return {"error": error}

    rows = [{"prompt": text} for text in ("the longest of all", "bad", "short row")]
    with backend.rpc_worker(render=refuse):
        spec = backend.spec(data={"dataset": backend.add_dataset(rows)})
        error = refused(backend.api.post("/jobs", json=spec), "data.dataset", "prompt_not_renderable")
    assert "Row 2" in error["message"]
    assert error["errors"][0]["row"] == 2


def test_a_model_whose_files_cannot_be_used_is_the_models_fault(backend: Backend) -> None:
    def refuse(payload: dict[str, Any]) -> dict[str, Any]:
        error = {"message": "The model has no tokenizer.json.", "code": "no_tokenizer", "param": "model"}
        return {
            "error": error | {"hint": "Save its tokenizer.", "type": "invalid_request_error", "errors": []}
        }

    with backend.rpc_worker(render=refuse):
        refused(backend.api.post("/jobs", json=backend.spec()), "model", "no_tokenizer")


def test_a_large_dataset_is_read_in_another_process(backend: Backend) -> None:
    rows = [{"prompt": f"{n}", "filler": "x" * 2000} for n in range(3000)]
    good = backend.spec(data={"dataset": backend.add_dataset(rows)})
    bad = backend.spec(
        data={"dataset": backend.add_dataset([*rows, {"filler": ""}]), "prompt_template": "{prompt}"}
    )
    with backend.rpc_worker():
        assert backend.api.post("/jobs", json=good).status_code == 201
        error = refused(backend.api.post("/jobs", json=bad), "data.prompt_template", "unknown_column")
        assert "line 3001" in error["message"]


def test_a_reward_that_does_not_load_is_refused_with_its_place(backend: Backend) -> None:
    def broken(payload: dict[str, Any]) -> dict[str, Any]:
        failure = {"code": "syntax_error", "message": "invalid syntax", "line": 2}
        rewards = [
            {"name": reward["name"], "entries": TWO[:1], "error": None} for reward in payload["rewards"]
        ]
        rewards[-1]["error"] = failure
        return {"rewards": rewards, "jail": "L"}

    spec = backend.spec(
        rewards=[{"type": "python", "name": name, "source": REWARD} for name in ("fine", "broken")]
    )
    with backend.rpc_worker(validate=broken):
        error = refused(backend.api.post("/jobs", json=spec), "rewards[1].source", "invalid_reward")
    assert "line 2" in error["message"]


@pytest.mark.parametrize(
    ("entries", "entry", "param", "code"),
    [
        (TWO, None, "rewards[0].entry", "ambiguous_entry"),
        (TWO, "c", "rewards[0].entry", "unknown_entry"),
        ([], None, "rewards[0].source", "invalid_reward"),
    ],
)
def test_the_function_to_call_has_to_be_clear(
    backend: Backend, entries: list[dict[str, Any]], entry: str | None, param: str, code: str
) -> None:
    def validate(payload: dict[str, Any]) -> dict[str, Any]:
        return {"rewards": [{"name": "right", "entries": entries, "error": None}], "jail": "L"}

    reward = {"type": "python", "name": "right", "source": REWARD, "entry": entry}
    with backend.rpc_worker(validate=validate):
        refused(backend.api.post("/jobs", json=backend.spec(rewards=[reward])), param, code)


def test_without_a_worker_nothing_is_created(backend: Backend) -> None:
    before = backend.count_jobs()
    response = backend.api.post("/jobs", json=backend.spec())
    assert (response.status_code, response.json()["error"]["code"]) == (503, "no_worker")
    assert "worker calls" in response.json()["error"]["hint"]
    assert backend.count_jobs() == before


def test_without_a_jail_nothing_is_created(backend: Backend) -> None:
    def unjailed(payload: dict[str, Any]) -> dict[str, Any]:
        return {"rewards": [{"name": "right", "entries": TWO[:1], "error": None}], "jail": None}

    with backend.rpc_worker(validate=unjailed):
        response = backend.api.post("/jobs", json=backend.spec())
    assert (response.status_code, response.json()["error"]["code"]) == (503, "sandbox_unavailable")
