"""Rewards that are graders: checked, stored, tried, pinned by jobs, and delivered with their judges."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.server import Backend, refused
from tests.support.judge_stub import Stub, judged

ANY = {"if-match": "*"}

CHECK: dict[str, Any] = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
JUDGE: dict[str, Any] = {
    "type": "label_model",
    "name": "tone",
    "model": "listener",
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
    "labels": ["kind", "rude"],
    "passing_labels": ["kind"],
}
BROKEN = {"type": "python", "source": "def f(:"}
ROWS = [{"prompt": f"p{n}", "answer": "yes"} for n in range(8)]
KEY = "sk-of-the-listener"


@pytest.fixture
def listener(backend: Backend) -> Iterator[dict[str, Any]]:
    """A judge of the project."""
    body = {"name": "listener", "base_url": "http://judge.example/v1", "model": "m", "api_key": KEY}
    made = backend.api.post("/judges", json=body)
    assert made.status_code == 201, made.text
    yield made.json()
    backend.api.delete("/judges/listener")


def graded(backend: Backend, *rewards: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return backend.spec(data={"dataset": backend.add_dataset(ROWS)}, rewards=list(rewards), **changes)


def stored(backend: Backend, grader: dict[str, Any], name: str) -> dict[str, Any]:
    answer = backend.api.post("/rewards", json={"name": name, "grader": grader})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_a_grader_is_stored_with_immutable_revisions(live_backend: Backend) -> None:
    reward = stored(live_backend, CHECK, "kept grader")
    assert (reward["kind"], reward["revision"], reward["revisions"][0]["kind"]) == ("grader", 1, "grader")
    assert json.loads(reward["revisions"][0]["source"]) == CHECK
    changed = CHECK | {"operation": "ilike"}
    second = live_backend.api.post(
        f"/rewards/{reward['id']}/revisions", headers=ANY, json={"source": json.dumps(changed)}
    ).json()
    assert [json.loads(revision["source"])["operation"] for revision in second["revisions"]] == [
        "ilike",
        "eq",
    ]
    third = live_backend.api.post(
        f"/rewards/{reward['id']}/revisions",
        headers=ANY,
        json={"source": "def grade(sample, item):\n    return 1"},
    ).json()
    assert (third["kind"], [revision["kind"] for revision in third["revisions"]]) == (
        "python",
        ["python", "grader", "grader"],
    )


@pytest.mark.parametrize(
    ("source", "says", "line"),
    [
        ('{"type": "string_check",}', "not JSON", 1),
        (json.dumps(CHECK | {"operation": "is"}), "operation", None),
        (
            json.dumps({"type": "multi", "graders": {"a": CHECK}, "calculate_output": "a +"}),
            "character 4",
            None,
        ),
        (
            json.dumps(
                {
                    "type": "multi",
                    "graders": {"p": {"type": "python", "source": "def f(:"}},
                    "calculate_output": "p",
                }
            ),
            "graders.p",
            None,
        ),
    ],
)
def test_a_grader_that_is_none_is_refused_with_what_to_change(
    live_backend: Backend, source: str, says: str, line: int | None
) -> None:
    checked = live_backend.api.post("/rewards/check", json={"source": source}).json()
    assert not checked["ok"]
    assert says in checked["problems"][0]["message"]
    assert checked["problems"][0]["line"] == line
    assert live_backend.api.post("/rewards", json={"name": "bad", "source": source}).status_code == 422


def test_a_check_names_the_field_of_every_mistake(live_backend: Backend) -> None:
    wrong = CHECK | {"input": "{{ item", "operation": "is"}
    multi = {"type": "multi", "graders": {"a": wrong}, "calculate_output": "a"}
    checked = live_backend.api.post("/rewards/check", json={"source": json.dumps(multi)}).json()
    assert [problem["field"] for problem in checked["problems"]] == ["graders.a.input", "graders.a.operation"]
    assert all(problem["line"] is None for problem in checked["problems"])


def test_a_check_lists_the_parts(live_backend: Backend) -> None:
    multi = {
        "type": "multi",
        "graders": {"a": CHECK, "b": CHECK | {"operation": "like"}},
        "calculate_output": "a + b",
    }
    report = live_backend.api.post("/rewards/check", json={"source": json.dumps(multi)}).json()
    assert [(entry["name"], entry["spelling"]) for entry in report["entries"]] == [
        ("a", "string_check"), ("b", "string_check"),
    ]  # fmt: skip


def test_completions_are_scored_by_a_stored_grader_with_the_projects_judge(live_backend: Backend) -> None:
    with Stub(lambda question, _: judged("kind" if "thanks" in question.text else "rude")) as stub:
        body = {"name": "listener", "base_url": stub.url, "model": "m", "api_key": KEY}
        assert live_backend.api.post("/judges", json=body).status_code == 201
        try:
            reward = stored(live_backend, JUDGE, "tone grader")
            rows = [{"completion": text, "item": {}} for text in ("thanks", "go away")]
            answer = live_backend.api.post(f"/rewards/{reward['id']}/test", json={"rows": rows}).json()
        finally:
            live_backend.api.delete("/judges/listener")
        assert {question.headers["authorization"] for question in stub.requests} == {f"Bearer {KEY}"}
    assert answer["load_error"] is None
    assert [(result["value"], result["labels"]) for result in answer["results"]] == [
        (1.0, {"": "kind"}),
        (0.0, {"": "rude"}),
    ]


def test_programs_are_scored_by_the_rows_hidden_tests(live_backend: Backend) -> None:
    tests = [{"call": "add(1, 2)", "expected": 3}, {"call": "add(-1, 1)", "expected": 0}]
    rows = [
        {"completion": f"```python\ndef add(a, b):\n    return {body}\n```", "item": {"tests": tests}}
        for body in ("a + b", "3", "a -")
    ]
    body = {"grader": {"type": "program_tests"}, "rows": rows}
    answer = live_backend.api.post("/rewards/test", json=body).json()
    assert answer["load_error"] is None
    assert [result["value"] for result in answer["results"]] == [1.0, 0.5, 0.0]
    assert [result["parts"]["passed"] for result in answer["results"]] == [2, 1, 0]


def test_trying_a_grader_reports_a_deleted_judge(live_backend: Backend) -> None:
    answer = live_backend.api.post(
        "/rewards/test", json={"grader": JUDGE, "rows": [{"completion": "x"}]}
    ).json()
    assert "listener" in answer["load_error"]


def test_a_job_pins_graders_and_its_worker_gets_the_judges_with_their_keys(
    backend: Backend, listener: dict[str, Any]
) -> None:
    multi = {
        "type": "multi",
        "name": "both",
        "graders": {"exact": CHECK, "tone": JUDGE},
        "calculate_output": "exact + tone",
    }
    code = {"name": "code", "source": "def grade(sample, item):\n    return 1", "judges": {"t": JUDGE}}
    with backend.rpc_worker():
        reward = stored(backend, JUDGE, "pinned grader")
        rewards = [
            multi,
            CHECK | {"weight": 2},
            {"reward": reward["id"], "name": "kept", "weight": 0.5},
            code,
        ]
        made = backend.api.post("/jobs", json=graded(backend, *rewards))
    assert made.status_code == 201, made.text
    job = made.json()
    assert job["resolved_spec"]["rewards"][2] == {
        "type": "grader", "name": "kept", "weight": 0.5, "on_error": "drop", "reward": reward["id"], "revision": 1,
        "grader": None, "path": None,
    }  # fmt: skip
    trainer = backend.claim(job["id"])
    assert [(reward_sent["name"], reward_sent["kind"]) for reward_sent in trainer.claimed["rewards"]] == [
        ("both", "grader"), ("exact", "grader"), ("kept", "grader"), ("code", "python"),
    ]  # fmt: skip
    assert json.loads(trainer.claimed["rewards"][1]["source"])["operation"] == "eq"
    assert trainer.claimed["rewards"][2]["revision"] == f"{reward['id']}@1"
    assert trainer.claimed["judges"]["listener"]["base_url"] == "http://judge.example/v1"
    assert trainer.claimed["judge_keys"] == {"listener": KEY}
    assert trainer.claimed["signing_secret"] is None
    assert KEY not in json.dumps(backend.job(job["id"]))
    trainer.end("failed", reason="done")


def test_an_endpoint_gets_the_projects_signing_secret(backend: Backend) -> None:
    with backend.rpc_worker():
        made = backend.api.post(
            "/jobs", json=graded(backend, {"type": "endpoint", "url": "https://g.example/"})
        )
    trainer = backend.claim(made.json()["id"])
    assert trainer.claimed["signing_secret"] == backend.api.get("/signing-secret").json()["secret"]
    trainer.end("failed", reason="done")


def test_what_a_grader_needs_and_is_not_there_refuses_the_job(backend: Backend) -> None:
    with backend.rpc_worker():
        unknown = graded(backend, CHECK | {"reference": "{{ item.solution }}"})
        error = refused(backend.api.post("/jobs", json=unknown), "rewards[0]", "unknown_column")
        assert "answer" in error["hint"]
        refused(
            backend.api.post("/jobs", json=graded(backend, CHECK, JUDGE)), "rewards[1].model", "unknown_judge"
        )
        offline = {"listener": {"base_url": "http://x/v1", "model": "m", "api_key_env": "HOME"}}
        refused(
            backend.api.post("/jobs", json=graded(backend, CHECK, judges=offline)),
            "judges",
            "judges_not_allowed",
        )
        path = {"type": "grader", "path": "/etc/passwd.json"}
        refused(backend.api.post("/jobs", json=graded(backend, path)), "rewards[0].path", "path_not_allowed")
        code = backend.api.post(
            "/rewards", json={"name": "plain", "source": "def grade(sample, item):\n    return 1"}
        ).json()
        other = {"type": "grader", "reward": code["id"]}
        refused(backend.api.post("/jobs", json=graded(backend, other)), "rewards[0].type", "other_kind")


def test_a_running_job_takes_another_revision_of_its_grader_but_no_other_judge(
    backend: Backend, listener: dict[str, Any]
) -> None:
    with backend.rpc_worker():
        reward = stored(backend, CHECK, "live grader")
        made = backend.api.post("/jobs", json=graded(backend, {"reward": reward["id"], "name": "live"}))
        job = made.json()["id"]
        trainer = backend.claim(job)
        revisions = f"/rewards/{reward['id']}/revisions"
        like = {"grader": CHECK | {"operation": "like"}}
        assert backend.api.post(revisions, headers=ANY, json=like).status_code == 201
        assert backend.api.post(f"/jobs/{job}/changes", json={}).status_code == 201
        assert backend.api.post(revisions, headers=ANY, json={"grader": JUDGE}).status_code == 201
        refused(backend.api.post(f"/jobs/{job}/changes", json={}), "revision", "other_services")
    trainer.end("failed", reason="done")
