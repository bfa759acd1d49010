"""Keys of calls: what a search by tool and status matches."""

import pytest

from reinforge.tools import Outcome, call_key, call_keys

CALLS = [("search", "ok"), ("search", "timeout"), ("price", "ok"), ("made up", "unknown_tool")]


@pytest.mark.parametrize(
    ("tool", "outcome", "matches"),
    [
        ("search", None, True),
        ("search", "ok", True),
        ("search", "timeout", True),
        ("search", "error", True),
        ("price", "ok", True),
        ("price", "timeout", False),
        ("price", "error", False),
        (None, "timeout", True),
        (None, "unknown_tool", True),
        (None, "error", True),
        (None, "crashed", False),
        ("other", None, False),
    ],
)
def test_tool_and_status_are_those_of_one_call(
    tool: str | None, outcome: Outcome | None, matches: bool
) -> None:
    assert (call_key(tool, outcome) in call_keys(CALLS)) is matches


def test_names_that_the_model_made_up_are_no_keys() -> None:
    keys = call_keys([("made up\0", "unknown_tool"), ("{", "invalid_json"), ("search", "too_many")])
    assert keys == ["=error", "=invalid_json", "=too_many", "=unknown_tool"]


def test_a_completion_without_calls_has_no_keys() -> None:
    assert call_keys([]) == []
