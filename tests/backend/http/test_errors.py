"""Every failure has the same envelope and a request id."""

import io
import json
import logging
from typing import Any

import pytest

from reinforge.system.logs import JsonLines
from tests.backend.server import OWNER_KEY, Backend

KEYS = {"message", "type", "code", "param", "hint", "errors", "request_id"}


def error(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == KEYS
    assert body["error"]["request_id"] == response.headers["x-request-id"]
    error: dict[str, Any] = body["error"]
    return error


def test_an_unknown_path(backend: Backend) -> None:
    assert error(backend.api.get("/nothing/here"), 404)["code"] == "unknown_path"
    assert error(backend.bare.post("/nothing"), 404)["code"] == "unknown_path"


def test_a_method_that_is_not_possible(backend: Backend) -> None:
    response = backend.api.delete("/jobs")
    assert error(response, 405)["code"] == "method_not_allowed"
    assert "POST" in response.headers["allow"] or "GET" in response.headers["allow"]


def test_something_that_is_not_there(backend: Backend) -> None:
    assert error(backend.api.get("/jobs/ftjob-none"), 404)["code"] == "job_not_found"


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"a": NaN}', b'"\\ud800"', b"\xff", b'{"model": "a\\u0000b"}', b"[]"]
)
def test_a_body_that_is_not_a_json_object(backend: Backend, body: bytes) -> None:
    response = backend.api.post("/jobs", content=body, headers={"content-type": "application/json"})
    assert error(response, 422)["message"]


@pytest.mark.parametrize(("path", "name"), [("/models?wait=30", "wait"), ("/jobs?limit=x", "limit")])
def test_a_parameter_at_fault_is_named(backend: Backend, path: str, name: str) -> None:
    """Whether or not there is a body with other names."""
    body = {"json": {"source": "starter-arith"}} if path.startswith("/models") else {}
    error_body = error(backend.api.request("POST" if body else "GET", path, **body), 422)
    assert error_body["param"] == name and error_body["message"].startswith(f"{name}: ")


def test_fields_at_fault_are_named(backend: Backend) -> None:
    spec = {
        "model": "m",
        "data": {"dataset": "d"},
        "rewards": [{"type": "python", "name": "x", "source": "s", "weight": "heavy"}],
        "algorithm": {"advantage": {"type": "grpo", "eps": -1}},
        "rollout": {"completions_per_prompt": 0},
        "learning_rate": 3,
    }
    error_body = error(backend.api.post("/jobs", json=spec), 422)
    assert {item["param"] for item in error_body["errors"]} == {
        "rewards[0].weight",
        "algorithm.advantage.eps",
        "rollout.completions_per_prompt",
        "learning_rate",
    }
    assert error_body["param"] == error_body["errors"][0]["param"]


def test_a_request_id_that_was_sent_comes_back(backend: Backend) -> None:
    response = backend.api.get("/jobs/none", headers={"x-request-id": "from-a-proxy.1"})
    assert error(response, 404)["request_id"] == "from-a-proxy.1"
    response = backend.api.get("/jobs/none", headers={"x-request-id": "bad id; drop"})
    assert error(response, 404)["request_id"].startswith("req_")


def test_answers_carry_a_request_id_too(backend: Backend) -> None:
    assert backend.bare.get("/healthz").headers["x-request-id"].startswith("req_")


def test_nul_in_an_address_is_an_error_of_the_request(backend: Backend) -> None:
    assert error(backend.api.get("/jobs/a%00b"), 422)["code"] == "nul_character"
    assert error(backend.api.get("/jobs?after=%00"), 422)["code"] == "nul_character"


def test_the_unexpected_is_a_500_without_its_details(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("backend.jobs.repository.find", broken)
    error_body = error(backend.api.get("/jobs/ftjob-x"), 500)
    assert error_body["code"] == "internal_error"
    assert "secret" not in str(error_body)
    assert error_body["request_id"] in error_body["hint"]


def test_its_line_of_the_log_names_request_and_job(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("detail")

    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines("api"))
    logger = logging.getLogger("backend.http.errors")
    monkeypatch.setattr("backend.jobs.repository.find", broken)
    monkeypatch.setattr(logger, "handlers", [handler])
    backend.api.get("/jobs/ftjob-x", headers={"x-request-id": "mine-1"})
    line = json.loads(stream.getvalue())
    assert (line["request_id"], line["job"]) == ("mine-1", "ftjob-x")
    assert line["exception"].endswith("RuntimeError: detail")


def test_cursors_that_no_list_gave_out(backend: Backend) -> None:
    for cursor in ("x", "////", "bm90IGEgY3Vyc29y"):
        error_body = error(backend.api.get("/jobs", params={"after": cursor}), 422)
        assert (error_body["code"], error_body["param"]) == ("invalid_cursor", "after")


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/jobs", {"optimiser": {}}, "optimiser: No such field. Did you mean optimizer?"),
        ("/jobs", {"rollout": {"topp": 1}}, "rollout.topp: No such field. Did you mean top_p?"),
        ("/jobs", {"algorithm": {"preset": "drgrpo"}}, "There is no preset 'drgrpo'. Did you mean dr_grpo?"),
        (
            "/jobs",
            {"algorithm": {"advantage": {"type": "dr_grpo", "epz": 1}}},
            "algorithm.advantage.epz: No such field.",
        ),
        ("/judges", {"nmae": "a"}, "nmae: No such field. Did you mean name?"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one(
    backend: Backend, path: str, body: dict[str, Any], message: str
) -> None:
    error_body = error(backend.api.post(path, json=body), 422)
    messages = [f"{item['param']}: {item['message']}" for item in error_body["errors"]]
    assert any(text.startswith(message) or message in text for text in messages), messages


def test_a_message_on_openais_wire_is_complete(backend: Backend) -> None:
    """Its SDK shows nothing else: where the fault is, and what to do."""
    with backend.client(OWNER_KEY, "/v1") as wire:
        bad = b'{"prompt":"a"}\n{"prompt":"caf\xe9"}\n'
        files = {"file": ("rows.jsonl", bad), "purpose": (None, "fine-tune")}
        error_body = error(wire.post("/files", files=files), 400)
        assert error_body["message"].startswith(
            "Line 2, column 15: Byte 0xe9 is not valid UTF-8. The file mixes"
        )
        assert error_body["message"].endswith(error_body["hint"])
        grader = {
            "type": "score_model",
            "name": "j",
            "model": "gpt-4o",
            "input": [{"role": "user", "content": "a"}],
        }
        request = {"grader": grader, "model_sample": "a", "item": {}}
        error_body = error(wire.post("/fine_tuning/alpha/graders/run", json=request), 400)
        assert error_body["message"].startswith(
            "The project has no judge 'gpt-4o'. Add it with POST /api/v1/judges"
        )
        assert "reinforge judge add" in error_body["message"]
