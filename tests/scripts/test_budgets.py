"""`scripts/budgets.py`: names that are refused, and ceilings that only sink."""

import ast
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import budgets  # noqa: E402


@pytest.mark.parametrize(
    "name", ["found", "rows_found", "_seen", "KEPT_LOGS", "ProjectSeen", "each", "worker_door"]
)
def test_a_name_with_a_refused_word_is_refused(name: str) -> None:
    assert budgets.is_refused(name)


@pytest.mark.parametrize(
    "name", ["last_seen_at", "not_found", "NotFound", "foundation", "for_each_row", "heartbeat"]
)
def test_fields_of_the_protocol_and_words_of_the_field_are_allowed(name: str) -> None:
    assert not budgets.is_refused(name)


def test_all_kinds_of_definitions_are_counted_with_their_line() -> None:
    source = """
import rows as told
class Seen:
    asked: int = 0
def given(kept, *, shown=None):
    self.known = [each for each in kept]
    return lambda wanted: wanted
"""
    refused = [name for name, _ in budgets.defined_names(ast.parse(source)) if budgets.is_refused(name)]
    assert sorted(refused) == sorted(
        ["told", "Seen", "asked", "given", "kept", "shown", "known", "each", "wanted"]
    )
    assert budgets.refused_names(Path("a.py"), "x = 1\nfound = 2\n") == ["a.py:2: found"]


def test_a_folder_above_its_ceiling_fails_and_names_the_words() -> None:
    failures, notices = budgets.name_problems(
        {"worker": ["worker/a.py:1: found", "worker/a.py:2: found"]}, {"worker": 1}
    )
    assert len(failures) == 1
    assert "worker: 2 refused names, at most 1" in failures[0]
    assert "found ×2" in failures[0]
    assert notices == []


def test_a_folder_without_a_ceiling_may_have_none() -> None:
    failures, _ = budgets.name_problems({"new": ["new/a.py:1: told"]}, {})
    assert len(failures) == 1


def test_a_folder_below_its_ceiling_passes_and_says_so() -> None:
    failures, notices = budgets.name_problems({"worker": ["worker/a.py:1: found"]}, {"worker": 3})
    assert failures == []
    assert notices == ["budgets: NAME_CEILINGS['worker'] can be lowered from 3 to 1"]


def test_a_refused_word_in_a_text_is_reported_with_its_line() -> None:
    text = "It is fine.\nhint = 'Mend the row.'\n<aside></aside>\nAmend the file.\n"
    assert budgets.text_problems(Path("backend/a.py"), text) == [
        "backend/a.py:2: 'Mend' (CONTRIBUTING.md#language)"
    ]
    assert budgets.text_problems(Path("tests/a.py"), text) == []


def test_a_class_name_is_used_once_apart_from_schemas() -> None:
    twice = {
        Path("worker/a.py"): "class Outcome: ...",
        Path("backend/b.py"): "class Outcome: ...",
        Path("backend/models/job.py"): "class Job: ...",
        Path("reinforge/schemas/jobs.py"): "class Job: ...",
        Path("tests/c.py"): "class Outcome: ...",
    }
    assert budgets.class_problems(twice) == [
        "class Outcome is defined in worker/a.py and backend/b.py: one name, one concept"
    ]
