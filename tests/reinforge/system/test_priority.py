"""A process that gives way does so where sessions are scheduled as groups, too."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = (
    "import os\nfrom pathlib import Path\nfrom reinforge.system.priority import give_way\n"
    "before = os.nice(0)\ngive_way(7)\nprint(os.nice(0) - before)\n"
    # The file is empty for a process whose session began before the kernel made groups of them.
    "group = Path('/proc/self/autogroup')\nwords = group.read_text().split() if group.exists() else []\n"
    "print(words[-1] if words else 'none')\n"
)


def priority_and_group(*, own_session: bool) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        start_new_session=own_session,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_leader_of_a_session_lowers_its_group() -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel schedules no sessions")
    assert priority_and_group(own_session=True) == ["7", "7"]


def test_another_process_lowers_itself_and_not_its_group() -> None:
    nice, group = priority_and_group(own_session=False)
    assert (nice, group != "7") == ("7", True)
