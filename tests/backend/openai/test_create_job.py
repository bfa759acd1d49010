"""POST /v1/fine_tuning/jobs: the job of a request, and the error for each invalid field."""

from typing import Any

import httpx
import pytest

from backend.jobs.submission import submit as submission
from reinforge.base_models.learning_rate import auto_learning_rate
from reinforge.imports import hyperparameters
from reinforge.schemas.openai_jobs import Hyperparameters
from tests.backend.openai.requests import CHECK, CODE, body, created
from tests.backend.openai.test_files import refused
from tests.backend.server import Backend

H = "method.reinforcement.hyperparameters"
G = "method.reinforcement.grader"


def spec_of(backend: Backend, job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = backend.job(job["id"])["resolved_spec"]
    return spec


def test_a_job_is_what_the_request_says(wire: httpx.Client, rpc_backend: Backend) -> None:
    held_out = rpc_backend.add_dataset([{"prompt": "1+1=", "answer": "2"}])
    request = body(
        rpc_backend,
        validation_file=held_out,
        suffix="my sums",
        seed=7,
        metadata={"team": "a"},
        hyperparameters={
            "batch_size": 4, "n_epochs": 3, "learning_rate_multiplier": 2.5, "compute_multiplier": 0.5,
            "eval_interval": 5, "eval_samples": 2, "temperature": 0.7, "lora_rank": 4, "algorithm": "dr_grpo",
        },
    )  # fmt: skip
    job = created(wire, request)
    assert (job["status"], job["fine_tuned_model"], job["error"]) == ("queued", None, None)
    assert (job["seed"], job["metadata"], job["user_provided_suffix"]) == (7, {"team": "a"}, "my sums")
    assert (job["training_file"], job["validation_file"]) == (request["training_file"], held_out)
    assert job["organization_id"] == rpc_backend.job(job["id"])["project"]
    assert job["method"]["reinforcement"]["grader"] == CHECK
    spec = spec_of(rpc_backend, job)
    assert (spec["rollout"]["prompts_per_step"], spec["rollout"]["completions_per_prompt"]) == (4, 4)
    assert (spec["rollout"]["temperature"], spec["adapter"]["rank"]) == (0.7, 4)
    assert spec["limits"]["steps"] == 15  # 20 rows, 3 epochs, 4 rows a step
    assert (spec["evaluation"]["every_steps"], spec["limits"]["checkpoint_every"]) == (5, 5)
    assert spec["evaluation"]["samples_per_row"] == 2
    assert spec["optimizer"]["learning_rate"] == pytest.approx(2.5 * auto_learning_rate(128))
    hyperparameters_view = job["method"]["reinforcement"]["hyperparameters"]
    assert (hyperparameters_view["learning_rate_multiplier"], hyperparameters_view["learning_rate"]) == (
        2.5,
        pytest.approx(2.5 * auto_learning_rate(128)),
    )
    assert spec["algorithm"]["preset"] == "dr_grpo"
    assert spec["rewards"][0]["name"] == "Exact_match"
    assert rpc_backend.job(job["id"])["name"] == "my sums"
    assert wire.get(f"/fine_tuning/jobs/{job['id']}").json() == job


def test_auto_is_echoed_as_what_it_became(wire: httpx.Client, rpc_backend: Backend) -> None:
    auto = dict.fromkeys(
        ("batch_size", "n_epochs", "learning_rate_multiplier", "compute_multiplier", "eval_interval"), "auto"
    )
    job = created(wire, body(rpc_backend, hyperparameters=auto))
    hyperparameters_view = job["method"]["reinforcement"]["hyperparameters"]
    assert "auto" not in hyperparameters_view.values()
    # 18 of 20 rows train; 16 a step; 50 epochs (the most) are 57 steps.
    assert {name: hyperparameters_view[name] for name in (*auto, "eval_samples", "reasoning_effort")} == {
        "batch_size": 16, "n_epochs": 50, "learning_rate_multiplier": 1.0, "compute_multiplier": 1.0,
        "eval_interval": 5, "eval_samples": 4, "reasoning_effort": "default",
    }  # fmt: skip
    spec = spec_of(rpc_backend, job)
    assert (spec["limits"]["steps"], hyperparameters_view["steps"]) == (57, 57)
    assert (spec["rollout"]["completions_per_prompt"], hyperparameters_view["completions_per_prompt"]) == (
        8,
        8,
    )
    assert 0 <= job["seed"] < 2**31
    assert job["seed"] != created(wire, body(rpc_backend))["seed"]


@pytest.mark.parametrize(("multiplier", "completions"), [(0.0001, 2), (0.25, 2), (1, 8), (2.5, 20), (10, 80)])
def test_compute_multiplier_is_completions_per_prompt(multiplier: float, completions: int) -> None:
    resolved = hyperparameters.resolve(Hyperparameters(compute_multiplier=multiplier), 100, "m", 128)
    assert resolved.spec["rollout"]["completions_per_prompt"] == completions
    assert resolved.view["compute_multiplier"] == multiplier


@pytest.mark.parametrize(
    ("grader", "type"),
    [
        pytest.param(CODE, "python", id="python"),
        pytest.param(CODE | {"image_tag": "2025-05-08"}, "python", id="python-with-image"),
        pytest.param({k: v for k, v in CHECK.items() if k != "name"}, "string_check", id="without-name"),
        pytest.param(CHECK | {"operation": "neq"}, "string_check", id="neq"),
        pytest.param(
            {
                "type": "text_similarity", "name": "near", "input": "{{ sample.output_text }}",
                "reference": "{{ item.answer }}", "evaluation_metric": "fuzzy_match",
            },
            "text_similarity", id="text-similarity",
        ),
        pytest.param(
            {
                "type": "multi", "name": "m", "graders": {"exact": CHECK, "long": CODE},
                "calculate_output": "0.5 * exact + long",
            },
            "multi", id="multi-dict",
        ),
        pytest.param(
            {
                "type": "multi", "name": "m", "graders": [CHECK | {"name": "exact"}, CODE],
                "calculate_output": "exact * code",
            },
            "multi", id="multi-list",
        ),
        pytest.param(
            {"type": "endpoint", "name": "mine", "url": "https://example.com/grade"}, "endpoint", id="endpoint"
        ),
    ],
)  # fmt: skip
def test_graders_of_every_type_are_accepted_and_returned_as_sent(
    wire: httpx.Client, rpc_backend: Backend, grader: dict[str, Any], type: str
) -> None:
    job = created(wire, body(rpc_backend, grader))
    assert job["method"]["reinforcement"]["grader"] == grader
    (reward,) = spec_of(rpc_backend, job)["rewards"]
    assert (reward["type"], reward["on_error"]) == (type, "zero")


def test_a_judge_of_the_project_is_taken_and_another_refused(
    wire: httpx.Client, rpc_backend: Backend
) -> None:
    grader = {
        "type": "score_model", "name": "judge", "model": "fine-judge",
        "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
        "sampling_params": {"temperature": 1, "max_completions_tokens": 100}, "range": [0, 10],
    }  # fmt: skip
    refused(
        wire.post("/fine_tuning/jobs", json=body(rpc_backend, grader)), 400, "unknown_judge", f"{G}.model"
    )
    made = rpc_backend.api.post(
        "/judges", json={"name": "fine-judge", "base_url": "https://judge.example.com/v1", "model": "m"}
    )
    assert made.status_code == 201, made.text
    job = created(wire, body(rpc_backend, grader))
    assert spec_of(rpc_backend, job)["rewards"][0]["range"] == [0.0, 10.0]


@pytest.mark.parametrize(
    "format",
    [
        pytest.param(
            {
                "type": "json_schema",
                "json_schema": {"name": "a", "strict": True, "schema": {"type": "object"}},
            },
            id="nested",
        ),
        pytest.param({"type": "json_schema", "name": "a", "schema": {"type": "object"}}, id="flat"),
    ],
)
def test_both_shapes_of_response_format_are_stored_with_a_warning(
    wire: httpx.Client, rpc_backend: Backend, format: dict[str, Any]
) -> None:
    job = created(wire, body(rpc_backend, response_format=format))
    assert job["method"]["reinforcement"]["response_format"] == format
    events = wire.get(f"/fine_tuning/jobs/{job['id']}/events").json()["data"]
    assert any("response_format" in event["message"] and event["level"] == "warn" for event in events)


def without(name: str) -> Any:
    return lambda request: {key: value for key, value in request.items() if key != name}


def changed(**fields: Any) -> Any:
    return lambda request: request | fields


def hyper(**fields: Any) -> Any:
    def change(request: dict[str, Any]) -> dict[str, Any]:
        request["method"]["reinforcement"]["hyperparameters"] |= fields
        return request

    return change


def graded(**fields: Any) -> Any:
    def change(request: dict[str, Any]) -> dict[str, Any]:
        request["method"]["reinforcement"]["grader"] = CHECK | fields
        return request

    return change


def formatted(format: dict[str, Any]) -> Any:
    def change(request: dict[str, Any]) -> dict[str, Any]:
        request["method"]["reinforcement"]["response_format"] = format
        return request

    return change


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        pytest.param(without("method"), 400, "method_not_offered", "method", id="no-method"),
        pytest.param(
            changed(method={"type": "supervised", "supervised": {}}), 400, "method_not_offered", "method.type",
            id="supervised",
        ),
        pytest.param(
            changed(method={"type": "dpo", "dpo": {}}), 400, "method_not_offered", "method.type", id="dpo"
        ),
        pytest.param(
            changed(method={"type": "ppo"}), 400, "invalid_input", "method.type", id="no-method-of-openai"
        ),
        pytest.param(
            changed(method={"type": "reinforcement"}), 400, "missing", "method.reinforcement", id="empty-method"
        ),
        pytest.param(without("training_file"), 400, "invalid_input", "training_file", id="no-file"),
        pytest.param(changed(training_file="file-none"), 400, "file_not_found", "training_file", id="file"),
        pytest.param(
            changed(validation_file="file-none"), 400, "dataset_not_found", "validation_file", id="validation-file"
        ),
        pytest.param(changed(model="gpt-5"), 404, "model_not_found", "model", id="model"),
        pytest.param(changed(suffix="x" * 65), 400, "invalid_input", "suffix", id="long-suffix"),
        pytest.param(changed(seed=-1), 400, "invalid_input", "seed", id="seed"),
        pytest.param(changed(metadata={"k": "v" * 513}), 400, "invalid_input", "metadata.k", id="metadata"),
        pytest.param(
            changed(integrations=[{"type": "wandb", "wandb": {"project": "p"}}]), 400,
            "integration_not_offered", "integrations", id="wandb",
        ),
        pytest.param(
            changed(hyperparameters={"n_epochs": 2}), 400, "hyperparameters_misplaced", "hyperparameters",
            id="top-level-hyperparameters",
        ),
        pytest.param(changed(epochs=1), 400, "invalid_input", "epochs", id="unknown-field"),
        pytest.param(hyper(batch_size=257), 400, "invalid_input", f"{H}.batch_size", id="batch-size"),
        pytest.param(hyper(batch_size=True), 400, "invalid_input", f"{H}.batch_size", id="batch-size-bool"),
        pytest.param(hyper(n_epochs=51), 400, "invalid_input", f"{H}.n_epochs", id="epochs"),
        pytest.param(
            hyper(learning_rate_multiplier=0), 400, "invalid_input", f"{H}.learning_rate_multiplier", id="rate"
        ),
        pytest.param(
            hyper(compute_multiplier=10.5), 400, "invalid_input", f"{H}.compute_multiplier", id="compute"
        ),
        pytest.param(hyper(eval_interval=0), 400, "invalid_input", f"{H}.eval_interval", id="interval"),
        pytest.param(hyper(reasoning_effort="x"), 400, "invalid_input", f"{H}.reasoning_effort", id="effort"),
        pytest.param(hyper(temprature=1), 400, "unknown_hyperparameter", f"{H}.temprature", id="unknown"),
        pytest.param(hyper(temperature=11), 400, "invalid_input", f"{H}.temperature", id="ours-out-of-range"),
        pytest.param(
            hyper(completions_per_prompt=4, compute_multiplier=1), 400, "given_twice",
            f"{H}.completions_per_prompt", id="twice",
        ),
        pytest.param(hyper(algorithm="no"), 400, "invalid_input", f"{H}.algorithm.preset", id="preset"),
        pytest.param(graded(operation="gt"), 400, "invalid_grader", G, id="grader"),
        pytest.param(graded(reference="{{ item.nothing }}"), 400, "unknown_column", G, id="column"),
        pytest.param(
            formatted({"type": "text"}), 400, "invalid_response_format", "method.reinforcement.response_format",
            id="response-format",
        ),
        pytest.param(
            formatted({"type": "json_schema", "json_schema": {"name": "a"}}), 400, "invalid_response_format",
            "method.reinforcement.response_format.json_schema.schema", id="response-format-schema",
        ),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_the_requests_own_field_and_nothing_is_stored(
    wire: httpx.Client, rpc_backend: Backend, change: Any, status: int, code: str, param: str
) -> None:
    before = rpc_backend.count_jobs()
    refused(wire.post("/fine_tuning/jobs", json=change(body(rpc_backend))), status, code, param)
    assert rpc_backend.count_jobs() == before


def test_a_request_sent_again_is_one_job(wire: httpx.Client, rpc_backend: Backend) -> None:
    request = body(rpc_backend)
    first = created(wire, request)
    again = created(wire, request, **{"x-stainless-retry-count": "1"})
    third = created(wire, request, **{"x-stainless-retry-count": "2"})
    assert first["id"] == again["id"] == third["id"]
    assert created(wire, request, **{"x-stainless-retry-count": "0"})["id"] != first["id"]
    other = created(wire, request | {"seed": 3}, **{"x-stainless-retry-count": "1"})
    assert other["id"] != first["id"]


def test_a_repeat_that_comes_after_the_window_is_a_new_job(wire: httpx.Client, rpc_backend: Backend) -> None:
    request = body(rpc_backend)
    first = created(wire, request)
    rpc_backend.sql("UPDATE idempotency_key SET created_at = created_at - interval '31 minutes'")
    assert created(wire, request, **{"x-stainless-retry-count": "1"})["id"] != first["id"]


def test_a_repeat_does_not_find_the_job_of_an_earlier_request(
    wire: httpx.Client, rpc_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same job asked for twice, where the second request fails at first."""
    request = body(rpc_backend)
    first = created(wire, request)
    with monkeypatch.context() as broken:
        broken.setattr("backend.jobs.submission.submit.validate", None)
        assert wire.post("/fine_tuning/jobs", json=request).status_code == 500
    assert created(wire, request, **{"x-stainless-retry-count": "1"})["id"] != first["id"]


def test_a_first_request_that_ends_after_its_repeat_finds_the_repeats_job(
    rpc_backend: Backend, wire: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client gave up waiting and sent it again while the first was still being checked."""
    request = body(rpc_backend)
    ask, repeated = submission.validate, []

    async def ask_slowly(*arguments: Any) -> Any:
        if not repeated:
            repeated.append(None)
            async with httpx.AsyncClient(base_url=str(wire.base_url), headers=wire.headers) as other:
                answer = await other.post(
                    "/fine_tuning/jobs", json=request, headers={"x-stainless-retry-count": "1"}
                )
            repeated.append(answer.json()["id"])
        return await ask(*arguments)

    monkeypatch.setattr(submission, "validate", ask_slowly)
    assert created(wire, request)["id"] == repeated[1]


def test_an_idempotency_key_makes_one_job(wire: httpx.Client, rpc_backend: Backend) -> None:
    request = body(rpc_backend)
    first = created(wire, request, **{"idempotency-key": "one-job"})
    assert created(wire, request, **{"idempotency-key": "one-job"})["id"] == first["id"]
    other = wire.post("/fine_tuning/jobs", json=request | {"seed": 5}, headers={"idempotency-key": "one-job"})
    refused(other, 400, "idempotency_key_reused", None)
