"""Which jobs use a reward. Apart from the other tests of rewards: here a worker agrees to everything."""

from tests.backend.jobs.monitoring.test_completions import row, send
from tests.backend.server import Backend

GRADE = "def grade(sample, item):\n    return 1.0\n"


def test_a_reward_counts_its_jobs_once_each_over_all_revisions(rpc_backend: Backend) -> None:
    made = rpc_backend.api.post("/rewards", json={"name": "accuracy", "source": GRADE}).json()
    assert (made["jobs"], made["last_used_at"]) == (0, None)
    twice = [{"reward": made["id"], "name": "one"}, {"reward": made["id"], "name": "two", "weight": 0.5}]
    rpc_backend.create_job(rewards=twice)
    rpc_backend.api.post(
        f"/rewards/{made['id']}/revisions", headers={"if-match": "*"}, json={"source": GRADE + "\n"}
    )
    newest = rpc_backend.api.get(f"/jobs/{rpc_backend.create_job(rewards=twice[:1])}").json()
    reward = rpc_backend.api.get(f"/rewards/{made['id']}").json()
    assert (reward["jobs"], reward["last_used_at"]) == (2, newest["created_at"])
    listed = rpc_backend.api.get("/rewards").json()["data"]
    assert [reward["jobs"] for reward in listed if reward["id"] == made["id"]] == [2]


def test_its_error_share_counts_completions_of_jobs_without_another_reward(rpc_backend: Backend) -> None:
    made = rpc_backend.api.post("/rewards", json={"name": "failing", "source": GRADE}).json()
    assert made["error_share"] is None
    alone = [{"reward": made["id"], "name": "one"}]
    # Of the four completions of `row`, the last one has an error.
    rows = [row(prompt, sample) for prompt in range(2) for sample in range(2)]
    for rewards, steps in ((alone, 2), ([*alone, {"reward": made["id"], "name": "two"}], 1), (alone, 0)):
        trainer = rpc_backend.claim(rpc_backend.create_job(rewards=rewards))
        trainer.start()
        for step in range(1, steps + 1):
            send(trainer, step, "train", rows)
        trainer.end("failed", reason="reward_errors", message="?")
    trainer = rpc_backend.claim(rpc_backend.create_job(rewards=alone))
    trainer.start()
    send(trainer, 1, "train", rows[:2])
    trainer.end("failed", reason="reward_errors", message="?")
    assert rpc_backend.api.get(f"/rewards/{made['id']}").json()["error_share"] == 2 / 10
