"""The list of jobs, narrowed down."""

from typing import Any

import pytest

from tests.backend.server import REWARD, Backend


def listed(backend: Backend, **query: Any) -> set[str]:
    """Names of the jobs on all pages."""
    names: set[str] = set()
    after: str | None = None
    while True:
        cursor = {} if after is None else {"after": after}
        response = backend.api.get("/jobs", params={"limit": 2} | query | cursor)
        assert response.status_code == 200, response.text
        page = response.json()
        names |= {job["name"] for job in page["data"]}
        after = page["next_cursor"]
        if not page["has_more"]:
            return names


@pytest.fixture(scope="module")
def jobs(rpc_backend: Backend) -> dict[str, Any]:
    """Five jobs; what they use."""
    one, two = rpc_backend.add_dataset(), rpc_backend.add_dataset()
    answer = rpc_backend.api.post("/rewards", json={"name": "Right", "source": REWARD})
    assert answer.status_code == 201, answer.text
    reward = answer.json()["id"]
    stored = [{"type": "python", "name": "right", "reward": reward}]
    ids = {
        "Sums small": rpc_backend.create_job(name="Sums small", data={"dataset": one}),
        "SUMS 100%": rpc_backend.create_job(name="SUMS 100%", data={"dataset": two}, rewards=stored),
        "held_out": rpc_backend.create_job(name="held_out", data={"dataset": two, "held_out": one}),
        "heldXout": rpc_backend.create_job(name="heldXout", data={"dataset": two}, rewards=stored),
        "back\\slash 'q'": rpc_backend.create_job(name="back\\slash 'q'", data={"dataset": two}),
    }
    rpc_backend.api.post(f"/jobs/{ids['heldXout']}/cancel")
    return {"one": one, "two": two, "reward": reward, "ids": ids}


def test_by_what_they_use(rpc_backend: Backend, jobs: dict[str, Any]) -> None:
    assert listed(rpc_backend) == set(jobs["ids"])
    assert listed(rpc_backend, dataset=jobs["one"]) == {"Sums small", "held_out"}
    assert listed(rpc_backend, dataset=jobs["two"]) == set(jobs["ids"]) - {"Sums small"}
    assert listed(rpc_backend, reward=jobs["reward"]) == {"SUMS 100%", "heldXout"}
    assert listed(rpc_backend, reward=jobs["reward"], status=["queued"]) == {"SUMS 100%"}
    assert listed(rpc_backend, reward=jobs["reward"], dataset=jobs["one"]) == set()
    assert listed(rpc_backend, dataset="file-none") == listed(rpc_backend, reward="rew_none") == set()


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("sums", {"Sums small", "SUMS 100%"}),
        (" SMALL ", {"Sums small"}),
        ("%", {"SUMS 100%"}),
        ("_", {"held_out"}),
        ("\\", {"back\\slash 'q'"}),
        ("'", {"back\\slash 'q'"}),
        ("/", set()),
        ("d_o", {"held_out"}),
        ("s%l", set()),
        ("'; DROP TABLE job; --", set()),
        ("x" * 200, set()),
    ],
)
def test_by_part_of_the_name(rpc_backend: Backend, jobs: dict[str, Any], q: str, names: set[str]) -> None:
    assert listed(rpc_backend, q=q) == names


def test_by_part_of_the_id(rpc_backend: Backend, jobs: dict[str, Any]) -> None:
    id: str = jobs["ids"]["held_out"]
    for q in (id, id[8:].upper(), id[-12:]):
        assert listed(rpc_backend, q=q) == {"held_out"}
    assert listed(rpc_backend, q="ftjob-") == listed(rpc_backend, q="") == set(jobs["ids"])


def test_too_long_or_with_a_nul(rpc_backend: Backend, jobs: dict[str, Any]) -> None:
    assert rpc_backend.api.get("/jobs", params={"q": "x" * 201}).status_code == 422
    assert rpc_backend.api.get("/jobs?q=%00").status_code == 422
    for name in ("dataset", "reward"):
        assert rpc_backend.api.get("/jobs", params={name: "x" * 30_000}).json()["data"] == []
