"""Which jobs use a reward. Apart from the other tests of rewards: here a worker agrees to everything."""

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
