"""Checking sources in a real sandbox without storing them, and the templates that people start from."""

import pytest

from reinforge.reward_library import library
from tests.backend.server import Backend


def check(backend: Backend, source: str, **fields: str) -> dict[str, object]:
    before = backend.sql("SELECT count(*) FROM reward_revision")
    response = backend.api.post("/rewards/check", json={"source": source, **fields})
    assert response.status_code == 200, response.text
    assert backend.sql("SELECT count(*) FROM reward_revision") == before
    report: dict[str, object] = response.json()
    return report


def test_a_good_source_lists_its_functions_with_their_lines(live_backend: Backend) -> None:
    source = "import re\n\ndef grade(sample, item): ...\n\ndef every(prompts, completions, **columns): ...\n"
    report = check(live_backend, source)
    assert (report["ok"], report["problems"], report["jail"] in ("L", "N")) == (True, [], True)
    assert report["entries"] == [
        {"name": "grade", "spelling": "openai", "line": 3, "columns": []},
        {"name": "every", "spelling": "trl", "line": 5, "columns": []},
    ]


@pytest.mark.parametrize(
    ("source", "line", "column", "says"),
    [
        ("def grade(sample, item):\n    return 1 +* 2\n", 2, 15, "SyntaxError"),
        ("import json\nimport nowhere\n", 2, None, "nowhere"),
        ("x = 1\n", None, None, "no reward function"),
        ("", None, None, "no reward function"),
    ],
)
def test_an_error_names_its_line_and_column(
    live_backend: Backend, source: str, line: int | None, column: int | None, says: str
) -> None:
    report = check(live_backend, source)
    assert (report["ok"], report["entries"]) == (False, [])
    [problem] = report["problems"]  # type: ignore[misc]
    assert (problem["line"], problem["column"]) == (line, column)
    assert says in problem["message"]
    assert (problem["hint"] is None) == (line is not None)


def test_a_named_function_has_to_be_there(live_backend: Backend) -> None:
    source = "def grade(sample, item): ...\n"
    assert check(live_backend, source, entry="grade")["ok"]
    [problem] = check(live_backend, source, entry="other")["problems"]  # type: ignore[misc]
    assert "other" in problem["message"]


def test_templates_need_no_worker(backend: Backend) -> None:
    with backend.add_key("viewer") as viewer:
        templates = viewer.get("/rewards/templates").json()["data"]
        assert [template["id"] for template in templates] == [template.id for template in library()]
        assert viewer.post("/rewards/check", json={"source": ""}).status_code == 403
