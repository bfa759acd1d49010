"""A recipe of `make` ends with `make`, whichever of them gets the signal, and gets it once."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import eventually, hear_interrupts

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

RECIPE = """
import sys, time
from reinforge.cli.admin.serve import stop_on_signals
log = open("log", "a", buffering=1)
with stop_on_signals():
    try:
        log.write("started\\n")
        time.sleep(120)
    except KeyboardInterrupt:
        log.write("told\\n")
        try:
            time.sleep(1.6)  # three looks of the watch
        except KeyboardInterrupt:
            log.write("told again\\n")
log.write("ended\\n")
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    (tmp_path / "recipe.py").write_text(RECIPE)
    (tmp_path / "Makefile").write_text(f"run:\n\t@exec {sys.executable} recipe.py\n")
    root = str(Path(__file__).parents[3])
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # of the `make` that runs the tests
    env = {name: value for name, value in os.environ.items() if name not in outer} | {"PYTHONPATH": root}
    process = subprocess.Popen(
        ["make", "run"], cwd=tmp_path, env=env, start_new_session=True, preexec_fn=hear_interrupts
    )
    log = tmp_path / "log"
    eventually(lambda: log.exists() and "started" in log.read_text(), within=30)
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def lines_of(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    eventually(lambda: "ended" in log.read_text(), within=30, what=log.read_text())
    return log.read_text().split("\n")[1:-2]


def test_an_interrupt_for_make_alone_reaches_its_recipe(
    tmp_path: Path, made: subprocess.Popen[bytes]
) -> None:
    made.send_signal(signal.SIGINT)
    assert lines_of(tmp_path) == ["told"]
    assert made.wait(10) != 0


def test_ctrl_c_for_both_is_handled_once(tmp_path: Path, made: subprocess.Popen[bytes]) -> None:
    os.killpg(made.pid, signal.SIGINT)
    assert lines_of(tmp_path) == ["told"]
    made.wait(10)


def test_a_killed_make_takes_its_recipe_along(tmp_path: Path, made: subprocess.Popen[bytes]) -> None:
    made.kill()
    assert lines_of(tmp_path) == ["told"]
