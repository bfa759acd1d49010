"""A specification is checked as a whole, field by field, and nothing is stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from reinforge.presets import PRESETS
from reinforge.spec import JobSpec
from tests.backend.server import REWARD, Backend


@pytest.fixture
def attended(backend: Backend) -> Iterator[Backend]:
    """The backend with a worker that agrees to everything, for one test."""
    with backend.rpc_worker():
        yield backend


def checked(backend: Backend, spec: dict[str, Any], **query: Any) -> dict[str, Any]:
    before = backend.count_jobs()
    response = backend.api.post("/jobs/check", json=spec, params=query)
    assert response.status_code == 200, response.text
    assert backend.count_jobs() == before
    report: dict[str, Any] = response.json()
    return report


def params(report: dict[str, Any]) -> set[str]:
    return {problem["param"] for problem in report["problems"]}


def test_a_good_specification_comes_back_filled_in_and_in_numbers(attended: Backend) -> None:
    dataset = attended.add_dataset([{"prompt": f"{n:x>10}"} for n in range(20)])
    spec = attended.spec(data={"dataset": dataset})
    report = checked(attended, spec)
    assert (report["ok"], report["problems"], report["warnings"]) == (True, [], [
        "3 steps take 12 prompts: 6 of the 18 training rows are never used."
    ])  # fmt: skip
    assert report["worker_warnings"] == []
    assert report["facts"] == {
        "rows": 20,
        "training_rows": 18,
        "held_out_rows": 2,
        "completions_per_step": 8,
        "completions": 24,
        "epochs": pytest.approx(12 / 18),
        "longest_prompt_tokens": 10,
        "prompt_limit": 112,
        "jail": "L",
    }
    assert report["spec"]["rewards"][0]["entry"] == "grade"
    assert report["spec"]["rollout"]["max_prompt_tokens"] == 112
    assert attended.api.post("/jobs", json=spec).json()["resolved_spec"] == report["spec"]


def test_every_field_at_fault_is_named_at_once(backend: Backend) -> None:
    spec = {
        "model": "m",
        "data": {"datset": "d"},
        "rewards": [
            {"name": "x", "source": "s", "weight": "heavy"},
            {"name": "y"},
            {"type": "python", "name": "z", "reward": "rew_1", "source": "s"},
        ],
        "algorithm": {"preset": "grop", "advantage": {"type": "grpo", "eps": -1}},
        "rollout": {"completions_per_prompt": 0},
    }
    report = checked(backend, spec)
    assert params(report) == {
        "data.dataset",
        "data.datset",
        "rewards[0].weight",
        "rewards[1]",
        "rewards[2]",
        "algorithm.preset",
        "algorithm.advantage.eps",
        "rollout.completions_per_prompt",
    }
    assert (report["ok"], report["spec"], report["facts"]) == (False, None, {})
    [typo] = [problem for problem in report["problems"] if problem["param"] == "data.datset"]
    assert "spelling" in typo["hint"]


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"rewards": [{"name": "a", "source": REWARD}, {"name": "a", "source": REWARD}]}, "rewards"),
        (
            {"rollout": {"prompts_per_step": 2}, "algorithm": {"updates_per_step": 3}},
            "algorithm.updates_per_step",
        ),
    ],
)
def test_fields_that_disagree_name_the_one_to_look_at(
    backend: Backend, changes: dict[str, Any], param: str
) -> None:
    assert params(checked(backend, backend.spec(**changes), quick=True)) == {param}


def test_everything_that_is_missing_is_named_at_once(attended: Backend) -> None:
    spec = attended.spec(
        model="nope",
        data={"dataset": "file-none", "held_out": "file-neither"},
        rewards=[
            {"name": "stored", "reward": "rew_none"},
            {"name": "file", "path": "reward.py"},
            {"name": "good", "source": REWARD},
        ],
    )
    report = checked(attended, spec)
    assert params(report) == {
        "model",
        "data.dataset",
        "data.held_out",
        "rewards[0].reward",
        "rewards[1].path",
    }
    assert all(problem["hint"] and problem["code"] for problem in report["problems"])
    assert report["spec"]["limits"]["steps"] == 3


def test_what_workers_find_is_listed_beside_each_other(backend: Backend) -> None:
    def broken(payload: dict[str, Any]) -> dict[str, Any]:
        failure = {"code": "load_error", "message": "SyntaxError: invalid syntax", "line": 2}
        rewards = [{"name": reward["name"], "entries": [], "error": failure} for reward in payload["rewards"]]
        return {"rewards": rewards, "jail": "L"}

    spec = backend.spec(
        data={"dataset": backend.add_dataset([{"prompt": "x" * 200}, {"prompt": "y"}])},
        rewards=[{"name": "a", "source": "s"}, {"name": "b", "source": "s"}],
    )
    with backend.rpc_worker(validate=broken):
        report = checked(backend, spec)
        assert params(report) == {"rewards[0].source", "rewards[1].source", "data.dataset"}
        assert report["facts"]["longest_prompt_tokens"] == 200
        # A dataset that is not there keeps nobody from looking at the rewards.
        unfinished = checked(backend, spec | {"data": {"dataset": "file-none"}})
    assert params(unfinished) == {"rewards[0].source", "rewards[1].source", "data.dataset"}


def test_a_quick_check_asks_nobody(backend: Backend) -> None:
    with backend.rpc_worker() as rpc_worker:
        report = checked(backend, backend.spec(), quick=True)
        assert {kind for kind, _ in rpc_worker.calls} <= {"inspect_model"}
    assert (report["ok"], report["facts"]["jail"]) == (True, None)


def test_without_a_worker_the_rest_is_checked_with_a_warning(backend: Backend) -> None:
    report = checked(backend, backend.spec())
    assert report["ok"]
    [warning] = report["worker_warnings"]
    assert "not checked" in warning and "worker calls" in warning and warning in report["warnings"]
    assert not checked(backend, backend.spec(model="nope"))["ok"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limits": {"steps": 500}}, "about 111 times"),
        ({"evaluation": {"rows": 0}}, "evaluation.rows is 0"),
        ({"rewards": [{"name": "a", "source": REWARD, "weight": 0}]}, "nothing to learn"),
        ({"rollout": {"prompts_per_step": 64, "max_completion_tokens": 8}}, "only 18 rows train"),
    ],
)
def test_what_is_allowed_but_perhaps_not_meant_is_a_warning(
    attended: Backend, changes: dict[str, Any], words: str
) -> None:
    report = checked(attended, attended.spec(**changes))
    assert report["ok"]
    assert any(words in warning for warning in report["warnings"]), report["warnings"]


def test_nothing_held_out_is_one_warning(attended: Backend) -> None:
    for data, words in (
        ({"dataset": attended.add_dataset([{"prompt": "1"}])}, "1 row"),
        ({"dataset": attended.add_dataset(), "held_out_rows": 0}, "no best checkpoint"),
    ):
        report = checked(attended, attended.spec(data=data))
        about = [warning for warning in report["warnings"] if "held" in warning]
        assert len(about) == 1 and words in about[0], report["warnings"]


def test_a_viewer_may_check(attended: Backend) -> None:
    with attended.add_key("viewer") as viewer:
        assert viewer.post("/jobs/check", json=attended.spec()).json()["ok"]
    assert attended.api.post("/jobs/check", json=[]).status_code == 422


def test_the_form_knows_every_field_and_every_preset_that_a_job_can_run(backend: Backend) -> None:
    form = backend.api.get("/job-form").json()
    assert form["json_schema"] == JobSpec.model_json_schema()
    assert [preset["id"] for preset in form["presets"]] == list(PRESETS)
    turns = {"gagpo", "ih_grpo", "axpo"}
    eight = backend.spec()["rollout"] | {"completions_per_prompt": 8}
    for preset in form["presets"]:
        assert len(preset["summary"]) > 100 and preset["source"] and preset["title"]
        environment = {"type": "tools" if preset["id"] in turns else "single_turn"}
        changes = {"algorithm": {"preset": preset["id"]}, "rollout": eight, "environment": environment}
        spec = JobSpec.model_validate(backend.spec(**changes))
        assert preset["single_turn"] == (preset["reason"] is None) == (preset["id"] not in turns)
        assert spec.algorithm.model_dump(mode="json") == preset["algorithm"]


def test_the_form_has_each_card_whole(backend: Backend) -> None:
    cards = {preset["id"]: preset for preset in backend.api.get("/job-form").json()["presets"]}
    assert (cards["dapo"]["family"], cards["dapo"]["confidence"]) == ("objectives", "high")
    assert cards["dapo"]["recipe"]["optimizer"] == {"warmup_steps": 20}
    assert cards["dapo"]["published_rate"] == 1e-6
    assert "all weights with a learning rate of 1e-06" in cards["dapo"]["rate_note"]
    assert cards["grpo"]["rate_note"] == ""
    assert cards["grpo_2"]["job"] == {"rollout": {"completions_per_prompt": 2}}
    assert cards["pow3r"]["needs"] == ["a reward that returns `criteria`"]
    assert all(card["formula"] for card in cards.values())


def test_every_field_of_the_form_is_described() -> None:
    schema = JobSpec.model_json_schema()
    named = {"type"}  # tells variants apart
    bare = [
        f"{part}.{name}"
        for part, fields in [("JobSpec", schema), *schema["$defs"].items()]
        for name, field in fields.get("properties", {}).items()
        if not field.get("description") and name not in named
    ]
    assert bare == []
