"""The page's own unit tests, run with the rest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def npm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm in frontend/, with the Node of the environment that runs the tests first on PATH."""
    tools = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHON": sys.executable}
    return subprocess.run(
        ["npm", "run", "--silent", *arguments],
        cwd=ROOT / "frontend",
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.timeout(300)
def test_the_page_passes() -> None:
    done = npm("test")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
