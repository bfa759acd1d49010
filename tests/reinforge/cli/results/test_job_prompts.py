"""`reinforge job prompts`, against a real HTTP server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reinforge.cli.results.prompts import sparkline
from tests.reinforge.cli.test_commands import run
from tests.support.stub_server import Answer, StubServer


def prompt(row: int, **fields: Any) -> dict[str, Any]:
    return {
        "row_index": row, "prompt_hash": "ab", "prompt": f"{row}+1=\n", "answer": str(row + 1), "category": "won",
        "draws": 3, "completions": 12, "scored": 12, "pass_share": 0.25, "first_pass_share": 0.0,
        "last_pass_share": 0.75, "first_reward": 0.0, "last_reward": 0.75, "variance": 0.1, "last_step": 30,
        "last_prompt_no": 2, "series": {"steps": [10, 20, 30], "rewards": [0.0, 0.0, 0.75]},
    } | fields  # fmt: skip


def page(rows: list[int], cursor: str | None) -> dict[str, Any]:
    return {
        "object": "list", "data": [prompt(row) for row in rows], "has_more": cursor is not None,
        "next_cursor": cursor, "total": 3, "prompts": 40, "categories": {"won": 3, "never_solved": 5},
        "pass_above": 0.5,
    }  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/jobs/ftjob-1/prompts", Answer(200, page([3, 7], "next")), Answer(200, page([9], None)))
    yield server
    server.close()


def test_it_prints_all_pages_of_a_category(stub: StubServer) -> None:
    done = run(stub, "job", "prompts", "ftjob-1", "--category", "won")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 prompts; of all 40: 5 never solved, 0 newly lost, 3 won, 0 most variable" in done.stderr
    [line] = [line for line in done.stdout.splitlines() if "7+1=" in line]
    for cell in ("8", "won", "25%", "0.750", "▁▁▆", "7+1=⏎"):
        assert cell in line
    assert "9+1=" in done.stdout


def test_json_has_the_prompts_of_all_pages(stub: StubServer) -> None:
    done = run(stub, "job", "prompts", "ftjob-1", "--json")
    assert [prompt["row_index"] for prompt in json.loads(done.stdout)["data"]] == [3, 7, 9]


def test_an_unknown_category_is_refused(stub: StubServer) -> None:
    done = run(stub, "job", "prompts", "ftjob-1", "--category", "lost")
    assert done.returncode == 2
    assert "newly-lost" in done.stderr


@pytest.mark.parametrize(
    ("values", "line"), [([], ""), ([0.5], "▅"), ([0, 1], "▁█"), ([-1, 0, 3], "▁▃█"), ([5, 5], "██")]
)
def test_a_sparkline_starts_at_zero(values: list[float], line: str) -> None:
    assert sparkline(values) == line
