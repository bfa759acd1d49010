"""Rewards over HTTP, loaded and run by a real calls worker in a real sandbox."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from tests.backend.server import Backend

GRADE = "def grade(sample, item):\n    print('looked')\n    return float(sample['output_text'] == item['answer'])\n"


def create(backend: Backend, source: str = GRADE, **fields: Any) -> dict[str, Any]:
    response = backend.api.post("/rewards", json={"name": "accuracy", "source": source, **fields})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def test_a_reward_is_stored_with_its_functions(live_backend: Backend) -> None:
    made = create(live_backend, description="Exact match")
    assert made["id"].startswith("rew_")
    assert (made["revision"], made["granularity"], made["description"]) == (1, "sample", "Exact match")
    assert made["revisions"][0]["source"] == GRADE
    assert [entry["name"] for entry in made["revisions"][0]["entries"]] == ["grade"]
    assert live_backend.api.get(f"/rewards/{made['id']}").json() == made
    listed = live_backend.api.get("/rewards", params={"limit": 1}).json()["data"][0]
    assert listed["id"] == made["id"]
    assert "revisions" not in listed


def test_every_edit_is_a_revision_and_none_is_changed(live_backend: Backend) -> None:
    made = create(live_backend)
    edited = GRADE.replace("float", "1.0 * float")
    second = live_backend.api.post(
        f"/rewards/{made['id']}/revisions", headers={"if-match": "*"}, json={"source": edited}
    )
    assert second.status_code == 201
    reward = second.json()
    assert [revision["revision"] for revision in reward["revisions"]] == [2, 1]
    assert reward["revisions"][1] == made["revisions"][0]
    assert reward["revisions"][0]["source"] == edited
    again = live_backend.api.post(
        f"/rewards/{made['id']}/revisions", headers={"if-match": "*"}, json={"source": edited}
    ).json()
    assert again["revision"] == 2, "the same source again is no new revision"
    back = live_backend.api.post(
        f"/rewards/{made['id']}/revisions", headers={"if-match": "*"}, json={"source": GRADE}
    ).json()
    assert back["revision"] == 3


@pytest.mark.parametrize(
    ("source", "line", "in_message"),
    [
        ("x = 1\ndef grade(sample, item:\n    return 1\n", 2, ""),
        ("import nowhere_at_all\n", 1, "nowhere_at_all"),
        ("x = 1\n", None, "grade"),
        ("def grade(sample, item):\n    return 1\n\nraise ValueError('at import')\n", 4, "at import"),
    ],
    ids=["syntax", "import", "nothing callable", "raises"],
)
def test_a_source_that_does_not_load_is_refused_with_its_line(
    live_backend: Backend, source: str, line: int | None, in_message: str
) -> None:
    count = live_backend.sql("SELECT count(*) FROM reward")
    response = live_backend.api.post("/rewards", json={"name": "bad", "source": source})
    assert response.status_code == 422
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("invalid_reward", "source")
    assert error["errors"][0]["line"] == line
    assert in_message in error["message"]
    assert error["hint"]
    assert live_backend.sql("SELECT count(*) FROM reward") == count


def test_no_source_is_ever_parsed_by_the_backend(
    live_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = GRADE + "MARK = 'never compiled here'\n"
    parsed = []
    real = builtins.compile

    def watch(code: Any, *args: Any, **kwargs: Any) -> Any:
        if "never compiled here" in str(code):
            parsed.append(code)
        return real(code, *args, **kwargs)

    monkeypatch.setattr(builtins, "compile", watch)
    made = create(live_backend, source)
    live_backend.api.post(
        f"/rewards/{made['id']}/test", json={"rows": [{"completion": "2", "item": {"answer": "2"}}]}
    )
    assert parsed == []


def test_an_entry_that_is_not_there_is_refused(live_backend: Backend) -> None:
    response = live_backend.api.post("/rewards", json={"name": "a", "source": GRADE, "entry": "other"})
    assert response.status_code == 422
    assert "other" in response.json()["error"]["message"]


def test_completions_in_a_request_are_scored_with_stored_and_with_new_code(live_backend: Backend) -> None:
    made = create(live_backend)
    rows = [{"completion": text, "item": {"answer": "2"}} for text in ("2", "3")] + [{"completion": "2"}]
    stored = live_backend.api.post(f"/rewards/{made['id']}/test", json={"rows": rows}).json()
    assert [result["value"] for result in stored["results"]] == [1.0, 0.0, None]
    assert [result["status"] for result in stored["results"]] == ["ok", "ok", "exception"]
    assert "KeyError" in stored["results"][2]["message"]
    assert "looked" in stored["results"][0]["prints"]
    assert stored["results"][0]["name"] == "accuracy"
    assert stored["jail"] in ("L", "N")
    assert stored["load_error"] is None

    new = GRADE.replace("return", "return 2 *")
    tested = live_backend.api.post("/rewards/test", json={"source": new, "rows": rows[:1]}).json()
    assert tested["results"][0]["value"] == 2.0
    broken = live_backend.api.post("/rewards/test", json={"source": "def", "rows": rows[:1]})
    assert broken.status_code == 200
    assert (broken.json()["results"], "line 1" in broken.json()["load_error"]) == ([], True)


def test_a_group_is_scored_together(live_backend: Backend) -> None:
    source = "def grade(samples, items):\n    return [float(len(samples))] * len(samples)\n"
    rows = [{"completion": "a"}, {"completion": "b"}, {"completion": "c"}]
    body = {"source": source, "granularity": "group", "rows": rows}
    result = live_backend.api.post("/rewards/test", json=body).json()
    assert [result_row["value"] for result_row in result["results"]] == [3.0] * 3
    made = create(live_backend, source, granularity="group")
    result = live_backend.api.post(f"/rewards/{made['id']}/test", json={"rows": rows}).json()
    assert [result_row["value"] for result_row in result["results"]] == [3.0] * 3


def test_requests_that_make_no_sense_name_the_field(live_backend: Backend) -> None:
    made = create(live_backend)
    rows = [{"completion": "2"}]
    for path, body in (
        ("/rewards/test", {"rows": rows}),
        (f"/rewards/{made['id']}/test", {"rows": rows, "source": GRADE}),
        ("/rewards", {"name": "a", "source": "x" * 262_145}),
        ("/rewards", {"name": "a", "source": "é" * 200_000}),
        ("/rewards", {"name": "a", "source": ""}),
    ):
        response = live_backend.api.post(path, json=body)
        assert (response.status_code, response.json()["error"]["param"]) == (422, "source"), path
    assert live_backend.api.get("/rewards/rew_nowhere").status_code == 404
    assert (
        live_backend.api.post(
            "/rewards/rew_nowhere/revisions", headers={"if-match": "*"}, json={"source": GRADE}
        ).status_code
        == 404
    )


def test_without_a_worker_nothing_is_stored_and_it_says_how_to_start_one(
    database_url: str, tmp_path: Path
) -> None:
    with Backend(database_url, tmp_path) as backend:
        response = backend.api.post("/rewards", json={"name": "a", "source": GRADE})
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "no_worker"
        assert "python -m worker calls" in response.json()["error"]["hint"]
        assert backend.sql("SELECT count(*) FROM reward") == [(0,)]


def test_the_same_key_stores_one_reward(live_backend: Backend) -> None:
    body = {"name": "a", "source": GRADE}
    headers = {"Idempotency-Key": "reward-1"}
    ids = {live_backend.api.post("/rewards", json=body, headers=headers).json()["id"] for _ in range(2)}
    assert len(ids) == 1
