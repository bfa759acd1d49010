"""Forks: jobs that continue from a step of another job."""

from typing import Any

import pytest

from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.reward_remedies import reward_answers
from tests.backend.server import REWARD, Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")


def trained(backend: Backend, **spec: Any) -> tuple[str, Trainer]:
    """A running job at step 6 with checkpoints of steps 2 and 4 and a resume state of step 4."""
    job = backend.create_job(**{"limits": {"steps": 9}} | spec)
    trainer = backend.claim(job)
    trainer.start(0, 9)
    trainer.evaluate(0, 0.1)
    for step in range(1, 7):
        trainer.step(step)
        if step in (2, 4):
            trainer.checkpoint(step, step / 10)
    trainer.resume_state(4)
    return job, trainer


def fork(backend: Backend, job: str, **body: Any) -> dict[str, Any]:
    response = backend.api.post(f"/jobs/{job}/fork", json=body)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def test_a_fork_begins_with_the_others_resume_state(backend: Backend) -> None:
    job, _ = trained(backend)
    made = fork(backend, job)
    assert made["forked_from"] == {
        "job": job,
        "step": 4,
        "carried": ["weights", "optimizer", "algorithm", "order"],
    }
    assert (made["status"], made["progress"]["step"], made["name"]) == (
        "queued",
        4,
        f"{backend.job(job)['name']}, from step 4",
    )
    trainer = backend.claim(made["id"])
    claimed = trainer.claimed
    (state,) = backend.sql("SELECT sha256 FROM resume_state WHERE job_id = %s", job)
    assert (claimed["resume"]["sha256"], claimed["resume_step"]) == (state[0], 4)
    assert claimed["fork"] == {"step": 4, "carried": made["forked_from"]["carried"]}
    assert claimed["spec"] == {**backend.job(job)["resolved_spec"], "name": made["name"]}
    trainer.start(4, 9)
    trainer.evaluate(4, 0.5)
    assert backend.job(made["id"])["held_out_reward_before"] == 0.5


def test_it_begins_there_again_until_it_has_a_state_of_its_own(backend: Backend) -> None:
    job, _ = trained(backend)
    made = fork(backend, job)["id"]
    for attempt in (1, 2):
        trainer = backend.claim(made)
        assert (trainer.attempt, trainer.claimed["fork"]["step"], trainer.claimed["resume_step"]) == (
            attempt,
            4,
            4,
        )
        trainer.start(4, 9)
        trainer.step(5)
        backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", made)
        backend.sweep()
    trainer = backend.claim(made)
    trainer.start(4, 9)
    trainer.step(5)
    trainer.resume_state(5)
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", made)
    backend.sweep()
    last = backend.claim(made)
    assert (last.claimed["fork"], last.claimed["resume_step"]) == (None, 5)


def test_a_checkpoint_without_a_state_gives_its_weights(backend: Backend) -> None:
    job, _ = trained(backend)
    listed = backend.api.get(f"/jobs/{job}/starts").json()["data"]
    assert [
        (checkpoint["step"], checkpoint["whole"], checkpoint["held_out_reward"]) for checkpoint in listed
    ] == [
        (4, True, 0.4),
        (2, False, 0.2),
    ]
    made = fork(backend, job, step=2, name="other way")
    assert (made["name"], made["forked_from"]["carried"]) == ("other way", ["weights", "order"])
    (weights,) = backend.sql("SELECT sha256 FROM checkpoint WHERE job_id = %s AND step = 2", job)
    assert backend.claim(made["id"]).claimed["resume"]["sha256"] == weights[0]


@pytest.mark.parametrize(
    ("changes", "carried"),
    [
        ({"optimizer.learning_rate": 0.001}, ["weights", "optimizer", "algorithm", "order"]),
        ({"algorithm.preset": "dr_grpo"}, ["weights", "optimizer", "order"]),
        ({"seed": 7}, ["weights", "optimizer", "algorithm"]),
        ({"rollout.prompts_per_step": 3, "algorithm.preset": "dapo"}, ["weights", "optimizer"]),
    ],
    ids=["learning-rate", "algorithm", "seed", "both"],
)
def test_what_is_taken_over_follows_from_what_changed(
    backend: Backend, changes: dict[str, Any], carried: list[str]
) -> None:
    job, _ = trained(backend)
    made = fork(backend, job, set=changes)
    assert made["forked_from"]["carried"] == carried
    resolved = made["resolved_spec"]
    assert resolved["algorithm"]["preset"] == changes.get("algorithm.preset", "grpo")
    assert resolved["seed"] == changes.get("seed", 0)


def test_another_reward_is_pinned_and_everything_goes_on(backend: Backend) -> None:
    job, _ = trained(backend)
    reward = backend.api.post("/rewards", json={"name": "other", "source": REWARD + "# other\n"}).json()["id"]
    made = fork(backend, job, set={"rewards": [{"name": "other", "reward": reward}]})
    assert made["forked_from"]["carried"] == ["weights", "optimizer", "algorithm", "order"]
    assert made["resolved_spec"]["rewards"][0]["revision"] == 1
    (reward_sent,) = backend.claim(made["id"]).claimed["rewards"]
    assert (reward_sent["name"], reward_sent["source"]) == ("other", REWARD + "# other\n")


def test_it_has_the_changes_that_were_at_work_at_its_step(backend: Backend) -> None:
    reward = backend.api.post("/rewards", json={"name": "r", "source": REWARD}).json()["id"]
    job = backend.create_job(limits={"steps": 9}, rewards=[{"name": "right", "reward": reward}])
    trainer = backend.claim(job)
    trainer.start(0, 9)
    backend.api.post(
        f"/rewards/{reward}/revisions", headers={"if-match": "*"}, json={"source": REWARD + "# another\n"}
    )
    bodies: list[dict[str, Any]] = [
        {},
        {"type": "setting", "setting": "rollout.temperature", "value": 0.7},
        {"type": "setting", "setting": "rollout.temperature", "value": 0.6},
    ]
    ids = [backend.api.post(f"/jobs/{job}/changes", json=body).json()["id"] for body in bodies]
    for id, step in zip(ids, (2, 4, 5), strict=True):
        trainer.send({"kind": "change_applied", "change": id, "step": step})
    trainer.checkpoint(1)
    trainer.resume_state(4)
    late, early = fork(backend, job, step=4)["resolved_spec"], fork(backend, job, step=1)["resolved_spec"]
    assert (late["rewards"][0]["revision"], late["rollout"]["temperature"]) == (2, 0.7)
    assert (early["rewards"][0]["revision"], early["rollout"]["temperature"]) == (1, 1.0)


@pytest.mark.parametrize(
    ("changes", "param", "code"),
    [
        ({"adapter.rank": 4}, "set.adapter", "incompatible"),
        ({"model": "other"}, "set.model", "incompatible"),
        ({"limits.steps": 4}, "set.limits.steps", "no_steps_left"),
        ({"nothing.here": 4}, "set", "unknown_path"),
        ({"optimizer.learning_rate": -1}, "optimizer.learning_rate", "greater_than"),
        ({"optimizer.rate": 1}, "optimizer.rate", "extra_forbidden"),
        ({"algorithm.preset": "none"}, "algorithm", "value_error"),
    ],
    ids=["adapter", "model", "no-steps", "no-place", "range", "unknown", "preset"],
)
def test_what_cannot_go_on_is_refused_and_nothing_is_stored(
    backend: Backend, changes: dict[str, Any], param: str, code: str
) -> None:
    job, _ = trained(backend)
    before = backend.count_jobs()
    answer = backend.api.post(f"/jobs/{job}/fork", json={"set": changes})
    error = answer.json()["error"]
    codes = [error["code"], *(item["code"] for item in error["errors"])]
    assert (answer.status_code, code in codes) == (422, True), error
    assert error["param"].startswith(param), error
    assert backend.count_jobs() == before


def test_a_step_without_stored_state_cannot_be_forked(backend: Backend) -> None:
    job, _ = trained(backend)
    answer = backend.api.post(f"/jobs/{job}/fork", json={"step": 3})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_start")
    assert "4, 2" in answer.json()["error"]["hint"]
    fresh = backend.create_job()
    assert backend.api.post(f"/jobs/{fresh}/fork", json={}).json()["error"]["code"] == "no_start"


def test_a_fork_lives_on_when_the_others_state_goes(backend: Backend) -> None:
    job, trainer = trained(backend)
    made = fork(backend, job)["id"]
    for step in (5, 6, 7):
        trainer.resume_state(step)
    (sha256,) = backend.sql("SELECT sha256 FROM resume_state WHERE job_id = %s", made)
    assert backend.claim(made).claimed["resume"]["sha256"] == sha256[0]
    assert backend.get_blob(sha256[0]).status_code == 200


def test_the_family_is_the_whole_tree(backend: Backend) -> None:
    job, _ = trained(backend)
    first, second = fork(backend, job)["id"], fork(backend, job, step=2)["id"]
    trainer = backend.claim(first)
    trainer.start(4, 9)
    trainer.checkpoint(5)
    child = fork(backend, first, step=5)["id"]
    alone = backend.create_job()
    for member in (job, first, second, child):
        data = backend.api.get(f"/jobs/{member}/family").json()["data"]
        assert [job_view["id"] for job_view in data] == [job, first, second, child]
    assert [job_view["id"] for job_view in backend.api.get(f"/jobs/{alone}/family").json()["data"]] == [alone]


def test_a_viewer_forks_nothing_and_a_key_makes_one_fork(backend: Backend) -> None:
    job, _ = trained(backend)
    assert backend.add_key("viewer").post(f"/jobs/{job}/fork", json={}).status_code == 403
    headers = {"idempotency-key": f"fork-{job}"}
    ids = {backend.api.post(f"/jobs/{job}/fork", json={}, headers=headers).json()["id"] for _ in range(2)}
    assert len(ids) == 1


def test_a_fork_from_the_last_step_suggests_more_steps_in_all(backend: Backend) -> None:
    job, trainer = trained(backend)
    steps = backend.job(job)["resolved_spec"]["limits"]["steps"]
    trainer.checkpoint(steps, 1.0, final=True)
    refused = backend.api.post(f"/jobs/{job}/fork", json={})
    assert refused.status_code == 422
    hint = refused.json()["error"]["hint"]
    assert f"reinforge job fork … --set limits.steps={2 * steps}" in hint


def test_step_0_is_a_job_of_its_own_with_the_changes(backend: Backend) -> None:
    job, _ = trained(backend)
    made = fork(backend, job, step=0, set={"optimizer.learning_rate": 0.0005})
    assert (made["forked_from"], made["progress"]["step"]) == (None, 0)
    assert made["name"] == f"{backend.job(job)['name']}, from the base"
    trainer = backend.claim(made["id"])
    assert trainer.claimed["spec"]["optimizer"]["learning_rate"] == 0.0005
    assert (trainer.claimed["resume_step"], trainer.claimed["resume"], trainer.claimed["fork"]) == (
        0,
        None,
        None,
    )


def test_more_completion_tokens_take_their_room_from_what_prompts_had_left(backend: Backend) -> None:
    """The resolved limit of prompts is the context without the old completions."""
    job, _ = trained(backend)
    before = backend.job(job)["resolved_spec"]["rollout"]
    more = 2 * before["max_completion_tokens"]
    after = fork(backend, job, set={"rollout.max_completion_tokens": more})["resolved_spec"]["rollout"]
    assert after["max_completion_tokens"] == more
    assert after["max_prompt_tokens"] == before["max_prompt_tokens"] - more // 2


def test_an_item_of_a_list_is_named_by_its_number(backend: Backend) -> None:
    job, _ = trained(backend)
    made = fork(backend, job, set={"rewards.0.weight": 2.0})
    assert [reward["weight"] for reward in made["resolved_spec"]["rewards"]] == [2.0]
    answer = backend.api.post(f"/jobs/{job}/fork", json={"set": {"rewards.1.weight": 2.0}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unknown_path")


def test_the_remedy_of_a_wrong_reward_is_a_job_with_another_reward(backend: Backend) -> None:
    job, _ = trained(backend)
    series = {"held_out/answer_share": [(0, 0.4)], "reward/mean": [(1, 0.5)]}
    remedy = reward_answers(JobInput(series))
    assert remedy is not None
    made = fork(backend, job, step=remedy.step, set=remedy.set)
    assert [(reward["name"], reward["weight"]) for reward in made["resolved_spec"]["rewards"]] == [
        ("answer", 1.0)
    ]
