"""The wheels as `pip` builds them from this tree, once per test run; without network, by the hatchling of the tests."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of the client's wheel."""
    return _built(ROOT, tmp_path_factory)


@pytest.fixture(scope="session")
def server_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of the platform's wheel; the page has to be built."""
    return _built(ROOT / "scripts" / "server_wheel", tmp_path_factory)


def _built(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Processes that test side by side share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / f"wheel-of-{project.name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
            done = subprocess.run(
                [*command, "--wheel-dir", str(folder), str(project)],
                capture_output=True,
                text=True,
                timeout=280,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    [built] = folder.glob("*.whl")
    return built
