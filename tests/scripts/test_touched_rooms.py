"""`make quick` runs the tests of what a branch changes."""

from pathlib import Path

import pytest

from scripts.touched_rooms import rooms


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    for name in (
        "backend/jobs/test_pause.py",
        "backend/jobs/bench.py",
        "algorithm/test_loss.py",
        "docs/test_links.py",
        "reinforge/test_errors.py",
        "reinforge/cli/test_login.py",
        "scripts/test_lock.py",
        "e2e/test_1_demo.py",
        "support/processes.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("backend/jobs/pause.py", ["backend/jobs"]),
        ("backend/jobs/deeper/room/pause.py", ["backend/jobs"]),
        ("reinforge/algorithm/losses/dr_grpo.py", ["algorithm"]),
        ("reinforge/cli/login.py", ["reinforge/cli"]),
        ("reinforge/errors.py", ["reinforge/test_errors.py"]),
        ("reinforge/states.py", []),
        ("docs/jobs.md", ["docs"]),
        ("CHANGELOG.md", ["docs"]),
        (".ci/run", ["scripts"]),
        ("Makefile", ["scripts"]),
        ("tests/backend/jobs/test_pause.py", ["backend/jobs/test_pause.py"]),
        ("tests/backend/jobs/bench.py", ["backend/jobs"]),
        ("tests/backend/jobs/test_deleted.py", []),
        ("tests/e2e/test_1_demo.py", []),
        ("tests/support/processes.py", []),
    ],
)
def test_a_file_stands_for_its_tests(tests: Path, path: str, expected: list[str]) -> None:
    assert rooms([path], tests) == expected


def test_no_test_is_named_twice(tests: Path) -> None:
    paths = ["backend/jobs/pause.py", "backend/jobs/list.py", "tests/backend/jobs/test_pause.py", "docs/a.md"]
    assert rooms(paths, tests) == ["backend/jobs", "docs"]
