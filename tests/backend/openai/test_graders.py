"""`graders/run` and `graders/validate` as OpenAI's clients see them, with a real sandbox and a judge over HTTP."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from reinforge.grading import similarity
from tests.backend.server import OWNER_KEY, Backend
from tests.support.judge_stub import JudgeRequest, Reply, Stub, completion, judged

CHECK = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
CODE = {
    "type": "python",
    "name": "long",
    "source": "def grade(sample, item):\n    return len(sample['output_text']) / 4",
}
JUDGE = {
    "type": "score_model",
    "name": "judge",
    "model": "critic",
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
}
REQUIRED = {
    "formula_parse_error", "sample_parse_error", "truncated_observation_error", "unresponsive_reward_error",
    "invalid_variable_error", "other_error", "python_grader_server_error", "python_grader_server_error_type",
    "python_grader_runtime_error", "python_grader_runtime_error_details", "model_grader_server_error",
    "model_grader_server_error_details", "model_grader_refusal_error", "model_grader_parse_error",
}  # fmt: skip


@contextmanager
def judge(backend: Backend, behave: Callable[[JudgeRequest, int], Reply]) -> Iterator[Stub]:
    """A judge `critic` of the project."""
    with Stub(behave) as stub:
        body = {"name": "critic", "base_url": stub.url, "model": "m", "api_key": "sk-critic", "retries": 0}
        assert backend.api.post("/judges", json=body).status_code == 201
        try:
            yield stub
        finally:
            backend.api.delete("/judges/critic")


@pytest.fixture
def wire(live_backend: Backend) -> Iterator[httpx.Client]:
    with live_backend.client(OWNER_KEY, "/v1/fine_tuning/alpha/graders") as client:
        client.timeout = httpx.Timeout(120)
        yield client


def run(wire: httpx.Client, grader: dict[str, Any], sample: str, **item: Any) -> dict[str, Any]:
    answer = wire.post("/run", json={"grader": grader, "model_sample": sample, "item": item})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def raised(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: flag for name, flag in answer["metadata"]["errors"].items() if flag}


def test_a_score_has_openais_shape(wire: httpx.Client) -> None:
    result = run(wire, CHECK, "132", answer="132")
    assert result["reward"] == 1.0
    assert result["sub_rewards"] == {}
    assert result["model_grader_token_usage_per_model"] == {}
    metadata = result["metadata"]
    assert (metadata["name"], metadata["type"], metadata["scores"]) == (
        "exact",
        "string_check",
        {"exact": 1.0},
    )
    assert metadata["execution_time"] > 0
    assert (metadata["token_usage"], metadata["sampled_model_name"]) == (None, None)
    assert set(metadata["errors"]) >= REQUIRED
    assert raised(result) == {}


def test_a_multi_of_rule_code_and_judge_tells_its_parts_and_tokens(
    live_backend: Backend, wire: httpx.Client
) -> None:
    multi = {
        "type": "multi",
        "name": "all",
        "graders": {"exact": CHECK, "long": CODE, "judge": JUDGE},
        "calculate_output": "exact + long + judge",
    }
    with judge(live_backend, lambda *_: judged(0.5)) as stub:
        result = run(wire, multi, "hi", answer="hi")
        assert stub.requests[0].headers["authorization"] == "Bearer sk-critic"
    assert result["reward"] == 2.0
    assert result["sub_rewards"] == result["metadata"]["scores"] == {"exact": 1.0, "long": 0.5, "judge": 0.5}
    tokens = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 0}
    assert result["model_grader_token_usage_per_model"] == {"critic": tokens}
    assert result["metadata"]["token_usage"] == tokens
    assert "sk-critic" not in str(live_backend.sql("SELECT * FROM call"))


@pytest.mark.parametrize(
    ("grader", "flag"),
    [
        (CHECK | {"reference": "{{ item.nope }}"}, "invalid_variable_error"),
        (CHECK | {"input": "{{ sample.output_json.answer }}"}, "invalid_variable_error"),
        (CHECK | {"input": "{{ sample.output_json.answer }}"}, "sample_parse_error"),
        (CODE | {"source": "def grade(sample, item):\n    return 1 / 0"}, "python_grader_runtime_error"),
        (CODE | {"source": "def grade(sample, item):\n    return 'good'"}, "python_grader_runtime_error"),
        (CODE | {"source": "def grade(sample, item)"}, "python_grader_runtime_error"),
        (CODE | {"source": "def grade(sample, item):\n    return None"}, "unresponsive_reward_error"),
        (
            {"type": "multi", "graders": {"a": CHECK}, "calculate_output": "log(a - 1)"},
            "formula_parse_error",
        ),
        ({"type": "endpoint", "url": "http://10.0.0.1:1/x"}, "endpoint_grader_safety_check_error"),
    ],
)
def test_what_goes_wrong_is_a_flag_and_the_reward_0(
    wire: httpx.Client, grader: dict[str, Any], flag: str
) -> None:
    result = run(wire, grader, "x", answer="132")
    assert result["reward"] == 0.0
    assert raised(result)[flag] is True


def test_only_a_sample_that_is_no_json_is_a_parse_error(wire: httpx.Client) -> None:
    grader = CHECK | {"input": "{{ sample.output_json.answer }}"}
    assert "sample_parse_error" not in raised(run(wire, CHECK | {"reference": "{{ item.nope }}"}, "x"))
    assert set(raised(run(wire, grader, '{"other": 1}', answer="132"))) == {
        "invalid_variable_error",
        "invalid_variable_error_details",
    }
    result = run(wire, grader, '{"answer": "132"}', answer="132")
    assert (result["reward"], raised(result)) == (1.0, {})


def test_a_sample_that_is_cut_says_so(wire: httpx.Client) -> None:
    size = CODE | {"source": "def grade(sample, item):\n    return len(sample['output_text'])"}
    longest = run(wire, size, "x" * 262_144)
    assert (longest["reward"], raised(longest)) == (262_144.0, {})
    for grader in (size, size | {"source": "def grade(sample, item):\n    return 1 / 0"}):
        cut = run(wire, grader, "x" * 262_145)
        assert raised(cut)["truncated_observation_error"] is True
        assert cut["reward"] == (262_144.0 if grader is size else 0.0)
    refused = wire.post("/run", json={"grader": size, "model_sample": "x" * 1_048_577})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "model_sample")


def test_tool_calls_are_parsed_where_the_item_has_tools(wire: httpx.Client) -> None:
    grader = CHECK | {"input": "{{ sample.output_tools[0].function.arguments }}"}
    text = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    result = run(
        wire, grader, text, answer='{"a": 1}', tools=[{"type": "function", "function": {"name": "add"}}]
    )
    assert (result["reward"], raised(result)) == (1.0, {})
    assert raised(run(wire, grader, text, answer="x"))["invalid_variable_error"] is True


@pytest.mark.parametrize(
    ("behave", "flag"),
    [
        (lambda *_: completion(None, refusal="no"), "model_grader_refusal_error"),
        (lambda *_: completion("seven"), "model_grader_parse_error"),
        (lambda *_: Reply(b"", 500), "model_grader_server_error"),
        (lambda *_: completion("{", finish_reason="length"), "model_grader_exceeded_max_tokens_error"),
    ],
)
def test_what_a_judge_does_wrong_is_a_flag(
    live_backend: Backend, wire: httpx.Client, behave: Callable[[JudgeRequest, int], Reply], flag: str
) -> None:
    with judge(live_backend, behave):
        result = run(wire, JUDGE, "x")
    assert (result["reward"], raised(result)[flag]) == (0.0, True)


def test_validate_answers_with_the_grader_and_a_name(wire: httpx.Client) -> None:
    assert wire.post("/validate", json={"grader": CHECK}).json() == {"grader": CHECK}
    nameless = {key: value for key, value in CHECK.items() if key != "name"}
    named = wire.post("/validate", json={"grader": nameless}).json()["grader"]
    assert named.pop("name").startswith("grader-")
    assert named == nameless
    assert wire.post("/validate", json={"grader": CODE}).status_code == 200


@pytest.mark.parametrize(
    ("grader", "code", "says"),
    [
        (CHECK | {"operation": "is"}, "invalid_grader", "operation"),
        (JUDGE, "unknown_judge", "critic"),
        (CODE | {"source": "def f(:"}, "load_error", "line 1"),
    ],
)
def test_validate_refuses_with_400_and_what_to_change(
    wire: httpx.Client, grader: dict[str, Any], code: str, says: str
) -> None:
    answer = wire.post("/validate", json={"grader": grader})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == code
    assert says in error["message"]


def test_a_metric_without_its_data_is_unavailable(
    wire: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "_has_wordnet", lambda: False)  # the worker runs in this process
    grader = {key: value for key, value in CHECK.items() if key != "operation"}
    grader |= {"type": "text_similarity", "evaluation_metric": "meteor"}
    error = wire.post("/validate", json={"grader": grader}).json()["error"]
    assert (error["code"], "WordNet" in error["message"]) == ("unavailable", True)


def test_a_request_without_a_grader_is_a_400(wire: httpx.Client) -> None:
    for path in ("/run", "/validate"):
        answer = wire.post(path, json={})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "grader")
