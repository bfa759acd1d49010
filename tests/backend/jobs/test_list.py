"""The list of jobs, narrowed down."""

from typing import Any

import pytest

from tests.backend.server import REWARD, Backend


def listed(backend: Backend, **query: Any) -> set[str]:
    """Names of the jobs on all pages."""
    found: set[str] = set()
    after: str | None = None
    while True:
        cursor = {} if after is None else {"after": after}
        response = backend.api.get("/jobs", params={"limit": 2} | query | cursor)
        assert response.status_code == 200, response.text
        page = response.json()
        found |= {job["name"] for job in page["data"]}
        after = page["next_cursor"]
        if not page["has_more"]:
            return found


@pytest.fixture(scope="module")
def jobs(open_lane: Backend) -> dict[str, Any]:
    """Five jobs; what they use."""
    one, two = open_lane.add_dataset(), open_lane.add_dataset()
    answer = open_lane.api.post("/rewards", json={"name": "Right", "source": REWARD})
    assert answer.status_code == 201, answer.text
    reward = answer.json()["id"]
    stored = [{"type": "python", "name": "right", "reward": reward}]
    ids = {
        "Sums small": open_lane.create_job(name="Sums small", data={"dataset": one}),
        "SUMS 100%": open_lane.create_job(name="SUMS 100%", data={"dataset": two}, rewards=stored),
        "held_out": open_lane.create_job(name="held_out", data={"dataset": two, "held_out": one}),
        "heldXout": open_lane.create_job(name="heldXout", data={"dataset": two}, rewards=stored),
        "back\\slash 'q'": open_lane.create_job(name="back\\slash 'q'", data={"dataset": two}),
    }
    open_lane.api.post(f"/jobs/{ids['heldXout']}/cancel")
    return {"one": one, "two": two, "reward": reward, "ids": ids}


def test_by_what_they_use(open_lane: Backend, jobs: dict[str, Any]) -> None:
    assert listed(open_lane) == set(jobs["ids"])
    assert listed(open_lane, dataset=jobs["one"]) == {"Sums small", "held_out"}
    assert listed(open_lane, dataset=jobs["two"]) == set(jobs["ids"]) - {"Sums small"}
    assert listed(open_lane, reward=jobs["reward"]) == {"SUMS 100%", "heldXout"}
    assert listed(open_lane, reward=jobs["reward"], status=["queued"]) == {"SUMS 100%"}
    assert listed(open_lane, reward=jobs["reward"], dataset=jobs["one"]) == set()
    assert listed(open_lane, dataset="file-none") == listed(open_lane, reward="rew_none") == set()


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
def test_by_part_of_the_name(open_lane: Backend, jobs: dict[str, Any], q: str, names: set[str]) -> None:
    assert listed(open_lane, q=q) == names


def test_by_part_of_the_id(open_lane: Backend, jobs: dict[str, Any]) -> None:
    id: str = jobs["ids"]["held_out"]
    for q in (id, id[8:].upper(), id[-12:]):
        assert listed(open_lane, q=q) == {"held_out"}
    assert listed(open_lane, q="ftjob-") == listed(open_lane, q="") == set(jobs["ids"])


def test_too_long_or_with_a_nul(open_lane: Backend, jobs: dict[str, Any]) -> None:
    assert open_lane.api.get("/jobs", params={"q": "x" * 201}).status_code == 422
    assert open_lane.api.get("/jobs?q=%00").status_code == 422
    for name in ("dataset", "reward"):
        assert open_lane.api.get("/jobs", params={name: "x" * 30_000}).json()["data"] == []
