"""Order of the list of jobs, its filters and the settings it shows."""

from typing import Any

import pytest

from tests.backend.server import Backend

RATES = {"a": 1e-05, "b": 0.5, "C": 0.02, "d": 0.02, "e": 0.1}


@pytest.fixture(scope="module")
def names(rpc_backend: Backend) -> dict[str, str]:
    """Name → id of five jobs; b, C and d have a held-out reward, e is tagged twice."""
    ids = {
        name: rpc_backend.create_job(name=name, optimizer={"learning_rate": rate})
        for name, rate in RATES.items()
    }
    for name, value in {"b": -0.25, "C": 0.5, "d": 0.1}.items():
        rpc_backend.sql("UPDATE job SET held_out_reward = %s WHERE id = %s", value, ids[name])
    rpc_backend.api.patch(f"/jobs/{ids['e']}", json={"tags": ["x", "y"]}, headers={"if-match": "*"})
    rpc_backend.api.patch(f"/jobs/{ids['a']}", json={"tags": ["x"]}, headers={"if-match": "*"})
    return ids


def listed(backend: Backend, **query: Any) -> list[str]:
    names: list[str] = []
    after: dict[str, str] = {}
    while True:
        response = backend.api.get("/jobs", params={"limit": 2} | query | after)
        assert response.status_code == 200, response.text
        page = response.json()
        names += [job["name"] for job in page["data"]]
        if not page["has_more"]:
            return names
        after = {"after": page["next_cursor"]}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("created", "abCde"),
        ("-created", "edCba"),
        ("name", "abCde"),
        ("-name", "edCba"),
        ("held_out_reward", "bdCea"),
        ("-held_out_reward", "Cdbea"),
        ("spec.optimizer.learning_rate", "adCeb"),
        ("-spec.optimizer.learning_rate", "bedCa"),
        ("spec.no.such.setting", "edCba"),
        ("duration", "edCba"),
        ("-held_out_reward_best", "edCba"),
    ],
)
def test_every_page_continues_the_order(
    rpc_backend: Backend, names: dict[str, str], sort: str, order: str
) -> None:
    assert "".join(listed(rpc_backend, sort=sort)) == order


def test_a_job_that_ends_between_pages_moves_no_other(rpc_backend: Backend, names: dict[str, str]) -> None:
    query = {"sort": "-held_out_reward", "limit": 2}
    first = rpc_backend.api.get("/jobs", params=query).json()
    new = rpc_backend.create_job(name="new")
    rpc_backend.sql("UPDATE job SET held_out_reward = 0.9 WHERE id = %s", new)
    rest = rpc_backend.api.get("/jobs", params=query | {"limit": 9, "after": first["next_cursor"]}).json()
    assert [job["name"] for job in first["data"] + rest["data"]] == ["C", "d", "b", "e", "a"]
    rpc_backend.api.post(f"/jobs/{new}/cancel")
    assert rpc_backend.api.delete(f"/jobs/{new}").status_code == 204


def test_filters(rpc_backend: Backend, names: dict[str, str]) -> None:
    assert listed(rpc_backend, tag="x") == ["e", "a"]
    assert listed(rpc_backend, tag=["x", "y"]) == ["e"]
    facets = rpc_backend.api.get("/job-facets").json()
    assert facets["tags"] == ["x", "y"]
    (model,), (owner,) = facets["models"], facets["owners"]
    assert len(listed(rpc_backend, model=model, owner=owner)) == 5
    for other in ({"model": "none"}, {"owner": "none"}, {"preset": "none"}, {"tag": "z"}):
        assert listed(rpc_backend, **other) == []


def test_settings_of_a_list(rpc_backend: Backend, names: dict[str, str]) -> None:
    paths = ["optimizer.learning_rate", "no.such"]
    page = rpc_backend.api.get("/jobs", params={"setting": paths}).json()
    settings = {job["name"]: job["settings"] for job in page["data"]}
    assert settings["C"] == {"optimizer.learning_rate": 0.02, "no.such": None}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"sort": "colour"}, "unknown_sort"),
        ({"sort": "spec.'; DROP TABLE job"}, "unknown_path"),
        ({"setting": "a..b"}, "unknown_path"),
        ({"after": "bm9uZQ"}, "invalid_cursor"),
    ],
)
def test_what_is_no_order(
    rpc_backend: Backend, names: dict[str, str], query: dict[str, str], code: str
) -> None:
    response = rpc_backend.api.get("/jobs", params=query)
    assert (response.status_code, response.json()["error"]["code"]) == (422, code)


def test_a_cursor_belongs_to_its_order(rpc_backend: Backend, names: dict[str, str]) -> None:
    after = rpc_backend.api.get("/jobs", params={"limit": 2, "sort": "name"}).json()["next_cursor"]
    response = rpc_backend.api.get("/jobs", params={"sort": "-name", "after": after})
    assert response.json()["error"]["code"] == "invalid_cursor"
