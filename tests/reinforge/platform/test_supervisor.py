"""No process is left, however the supervisor ends; children that end are started again."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.errors import Unavailable
from reinforge.platform import keeper
from reinforge.platform.supervisor import ProcessSupervisor, Service, SupervisorEvent, rotate
from reinforge.system.process_table import descendants, identify
from tests.support.processes import alive, all_gone, eventually, read_pids

TOYS = str(Path(__file__).with_name("toys.py"))
FAMILY = ["family", "stubborn", "daemon"]


def toy(role: str, folder: Path, **options: object) -> Service:
    command = [sys.executable, TOYS, role, str(folder)]
    return Service(role, command, folder, dict(os.environ), **options)  # type: ignore[arg-type]


@pytest.fixture
def supervisor() -> Iterator[ProcessSupervisor]:
    supervisor = ProcessSupervisor()
    yield supervisor
    supervisor.hurry()
    supervisor.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_supervisor_that_ends_takes_all_descendants_along(tmp_path: Path, number: int) -> None:
    parent = subprocess.Popen([sys.executable, TOYS, "parent", str(tmp_path)])
    pids = read_pids(tmp_path, [*FAMILY, "ready"])
    assert alive(pids) == pids
    keepers = [process.pid for process in descendants(parent.pid) if os.getsid(process.pid) != os.getsid(0)]
    parent.send_signal(number)
    parent.wait(30)
    all_gone([*pids, *keepers])


def test_stop_returns_after_the_last_descendant_is_gone(
    tmp_path: Path, supervisor: ProcessSupervisor
) -> None:
    supervisor.start(toy("family", tmp_path, grace=1.0))
    pids = read_pids(tmp_path, FAMILY)
    supervisor.stop()
    assert alive(pids) == []
    assert not (tmp_path / "run" / "family.pid").exists()


def test_a_command_that_ignores_the_stop_signal_is_killed_after_its_grace(
    tmp_path: Path, supervisor: ProcessSupervisor
) -> None:
    supervisor.start(toy("stubborn", tmp_path, grace=0.3))
    pids = read_pids(tmp_path, ["stubborn"])
    supervisor.stop()
    assert alive(pids) == []


def test_hurry_ends_a_stop_that_is_under_way(tmp_path: Path, supervisor: ProcessSupervisor) -> None:
    supervisor.start(toy("stubborn", tmp_path, grace=3600.0))
    pids = read_pids(tmp_path, ["stubborn"])
    stopper = threading.Thread(target=supervisor.stop)
    stopper.start()
    supervisor.hurry()
    stopper.join(30)
    assert not stopper.is_alive()
    assert alive(pids) == []


def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path, supervisor: ProcessSupervisor) -> None:
    supervisor.start(toy("family", tmp_path))
    main, *others = read_pids(tmp_path, FAMILY)
    os.kill(main, signal.SIGKILL)
    all_gone(others)


def test_a_child_that_ends_is_started_again(tmp_path: Path) -> None:
    events: list[SupervisorEvent] = []
    supervisor = ProcessSupervisor(events.append)
    supervisor.start(toy("stubborn", tmp_path, grace=0.2))
    try:
        (first,) = read_pids(tmp_path, ["stubborn"])
        os.kill(first, signal.SIGKILL)
        eventually(lambda: read_pids(tmp_path, ["stubborn"]) != [first], what="a second start")
    finally:
        supervisor.stop()
    restarts = [event.message for event in events if event.kind == "restarting"]
    assert restarts == ["stubborn ended with status 137; it restarts in 0.5 s"]


def test_a_child_that_ends_before_it_is_ready_is_an_error_with_its_last_words(
    tmp_path: Path, supervisor: ProcessSupervisor
) -> None:
    with pytest.raises(
        Unavailable, match="fragile ended with status 3:\ncannot find my other shoe"
    ) as caught:
        supervisor.start(toy("fragile", tmp_path, ready=lambda: False))
    assert caught.value.code == "fragile_start_failed"
    assert caught.value.hint is not None and "fragile.log" in caught.value.hint
    assert (tmp_path / "starts").read_text() == "x"


def test_an_optional_child_is_tried_again_without_holding_up_the_start(tmp_path: Path) -> None:
    events: list[SupervisorEvent] = []
    supervisor = ProcessSupervisor(events.append)
    supervisor.start(toy("fragile", tmp_path, ready=lambda: False), optional={"fragile"})
    try:
        eventually(lambda: len((tmp_path / "starts").read_text()) >= 2, what="a second try")
    finally:
        supervisor.stop()
    assert [event.kind for event in events][:2] == ["failed", "restarting"]


def test_groups_stop_in_reverse_order(tmp_path: Path) -> None:
    events: list[SupervisorEvent] = []
    supervisor = ProcessSupervisor(events.append)
    for name in ("first", "second"):
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        supervisor.start(Service(name, command, tmp_path, dict(os.environ)))
    supervisor.stop()
    assert [(event.child, event.kind) for event in events] == [
        ("first", "running"),
        ("second", "running"),
        ("second", "stopped"),
        ("first", "stopped"),
    ]


def test_a_start_ends_what_a_killed_keeper_left_running(tmp_path: Path) -> None:
    service = toy("stubborn", tmp_path)
    service.start()
    (orphan,) = read_pids(tmp_path, ["stubborn"])  # SIGTERM, which it gets when its keeper dies, is ignored
    entry = json.loads(service.pid_file.read_text())
    os.kill(entry["keeper"]["pid"], signal.SIGKILL)
    eventually(lambda: not service.running)
    assert alive([orphan]) == [orphan]
    assert orphan in keeper.end_leftovers(service.pid_file)
    assert alive([orphan]) == []
    assert not service.pid_file.exists()


def test_a_pid_that_belongs_to_another_process_by_now_is_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    try:
        identity = identify(bystander.pid)
        assert identity is not None
        pid_file = tmp_path / "some.pid"
        pid_file.write_text(
            json.dumps({"keeper": {"pid": bystander.pid, "started": identity.started - 1}, "grace": 1})
        )
        assert keeper.end_leftovers(pid_file) == []
        assert bystander.poll() is None
        assert not pid_file.exists()
    finally:
        bystander.kill()
        bystander.wait()


def test_a_torn_pid_file_is_removed(tmp_path: Path) -> None:
    torn = tmp_path / "torn.pid"
    torn.write_text('{"keeper": {"pid"')
    assert keeper.end_leftovers(torn) == []
    assert not torn.exists()


def test_a_command_that_does_not_exist_says_so(tmp_path: Path, supervisor: ProcessSupervisor) -> None:
    service = Service("ghost", ["/no/such/program"], tmp_path, {}, ready=lambda: False)
    with pytest.raises(Unavailable, match="ended with status 127:\ncannot start /no/such/program"):
        supervisor.start(service)


def test_logs_of_the_last_five_runs_stay(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    for run in range(8):
        rotate(log)
        log.write_text(f"run {run}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "api.log",
        *(f"api.log.{n}" for n in range(1, 6)),
    ]
    assert (tmp_path / "api.log.1").read_text() == "run 6"
    assert (tmp_path / "api.log.5").read_text() == "run 2"
