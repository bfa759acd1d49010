"""Tests that would begin after the deadline of `.ci/run`, which has no time left for them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest
from tests.support import deadline

@pytest.mark.parametrize("number", range(10))
def test_one(number):
    if number == {last}:
        assert deadline.DEADLINE == 4e9
        deadline.DEADLINE = 1.0
"""


def run_tests(folder: Path, *, last: int) -> subprocess.CompletedProcess[str]:
    """Ten tests, of which test number `last` lasts until the deadline."""
    file = folder / "test_ten.py"
    file.write_text(TESTS.format(last=last))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.support.deadline", "-p", "no:cacheprovider", "-c", os.devnull,
         "-rs", f"--rootdir={folder}", str(file)],
        cwd=ROOT, env=os.environ | {"REINFORGE_TEST_DEADLINE": "4e9", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_tests_that_begin_too_late_are_skipped_and_counted(tmp_path: Path) -> None:
    run = run_tests(tmp_path, last=4)
    assert run.returncode == 0, run.stdout
    assert "5 passed, 5 skipped" in run.stdout
    assert "SKIPPED [5] tests/support/deadline.py" in run.stdout
    assert "no time left" in run.stdout


def test_a_run_fails_in_which_most_tests_were_skipped(tmp_path: Path) -> None:
    run = run_tests(tmp_path, last=0)
    assert (run.returncode, "Only 1 of 10 tests were run before the deadline." in run.stdout) == (1, True)
