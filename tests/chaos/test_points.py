"""Kill points: a process is killed once, at the planned point."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.points.kill_targets import is_stopped, role_of
from tests.chaos.running import POINTS, wait_until

RENAMES = """
import os, pathlib
for number in (1, 2, 3):
    fresh = pathlib.Path(f"fresh-{number}")
    fresh.write_text("x")
    fresh.replace("whole")
    os.link("whole", f"link-{number}")
"""
RECORDS = """
import os
for number in (1, 2):
    os.write(1, b'{"sequence":%d,"kind":"step_metrics"}\\n' % number)
"""


class Toy:
    """A program that plays one of the platform's processes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.plans = folder, folder / "plans"
        self.plans.mkdir()

    def run(self, module: str, code: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        packages, name = module.split("."), "__main__"
        if len(packages) > 1:
            name = packages.pop()
        room = self.folder
        for package in packages:
            room /= package
            room.mkdir(exist_ok=True)
            (room / "__init__.py").touch()
        (room / f"{name}.py").write_text(code)
        environment = os.environ | {
            "PYTHONPATH": f"{POINTS}:{self.folder}",
            "REINFORGE_CHAOS": str(self.plans),
            "REINFORGE_RECORD_FD": "1",
        }
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            timeout=60,
        )

    def plan(self, *points: dict[str, Any], record: bool = False, **more: Any) -> None:
        faults = [
            {"id": str(n), "point": point, "victims": [point["role"]], "signal": 9, "after": None} | more
            for n, point in enumerate(points, 1)
        ]
        (self.plans / "plan.json").write_text(json.dumps({"record": record, "faults": faults}))

    def recorded(self) -> list[tuple[str, str, str, int]]:
        lines = (self.plans / "points.jsonl").read_text().splitlines()
        return [tuple(json.loads(line)[k] for k in ("kind", "label", "when", "count")) for line in lines]  # type: ignore[misc]

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.is_file()}


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


def test_points_are_recorded_in_order_with_their_counts(toy: Toy) -> None:
    toy.plan(record=True)
    assert toy.run("backend", RENAMES, "api").returncode == 0
    assert toy.recorded()[:4] == [
        ("rename", "whole", "before", 1),
        ("rename", "whole", "after", 1),
        ("rename", "link-N", "before", 1),
        ("rename", "link-N", "after", 1),
    ]
    assert [count for _, _, _, count in toy.recorded()] == [1] * 4 + [2] * 4 + [3] * 4


@pytest.mark.parametrize(("when", "left"), [("before", {"fresh-2"}), ("after", set())])
def test_a_process_dies_at_its_point_and_only_once(toy: Toy, when: str, left: set[str]) -> None:
    toy.plan({"role": "api", "kind": "rename", "label": "whole", "when": when, "count": 2})
    assert toy.run("backend", RENAMES, "api").returncode == -signal.SIGKILL
    assert toy.files() == {"whole", "link-1", *left}
    assert (toy.plans / "fired-1").exists()
    (toy.folder / "link-1").unlink()
    assert toy.run("backend", RENAMES, "api").returncode == 0


def test_other_roles_and_processes_without_a_role_pass(toy: Toy) -> None:
    toy.plan({"role": "worker", "kind": "rename", "label": "whole", "when": "before", "count": 1})
    assert toy.run("backend", RENAMES, "api").returncode == 0
    assert not (toy.plans / "fired-1").exists()


def test_a_record_may_be_cut_in_the_middle_of_the_pipe(toy: Toy) -> None:
    toy.plan({"role": "trainer", "kind": "pipe", "label": "step_metrics", "when": "half", "count": 2})
    done = toy.run("worker.trainer.main", RECORDS)
    assert done.returncode == -signal.SIGKILL
    first, rest = done.stdout.split(b"\n")
    assert json.loads(first)["sequence"] == 1
    assert 0 < len(rest) < len(first)


def test_a_second_fault_waits_for_the_first(toy: Toy) -> None:
    point = {"role": "api", "kind": "rename", "label": "whole", "when": "before", "count": 1}
    toy.plan(point, after="0")
    assert toy.run("backend", RENAMES, "api").returncode == 0
    (toy.plans / "fired-0").touch()
    for link in toy.folder.glob("link-*"):
        link.unlink()
    assert toy.run("backend", RENAMES, "api").returncode == -signal.SIGKILL


def test_roles_are_derived_from_command_lines() -> None:
    lines = {
        "python -P -m backend api --port 1": "api",
        "python -P -m backend background": "background",
        "python -P -m backend migrate": None,
        "python -m worker": "worker",
        "python -m worker calls": "calls",
        "python -m worker.trainer.main --run x": "trainer",
        "python -m worker.sandbox --socket s": "sandbox",
        "python -P -m reinforge.platform.keeper {}": None,
        "python -m backend.datasets.uploads.inspection_child": None,
    }
    assert {line: role_of(line.split()) for line in lines} == lines


def test_a_stopped_process_is_detected() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(process.pid), 10)
        process.send_signal(signal.SIGCONT)
        assert wait_until(lambda: not is_stopped(process.pid), 10)
    finally:
        process.kill()
        process.wait()
    assert is_stopped(process.pid), "nobody is there to wait for"
