"""No process outlives its supervisor, and no other process is touched."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from reinforge.system.process_table import identify
from tests.support.supervised import TOY, Bench, is_running, wait_for
from tests.support.worker_api_stub import TOKEN
from worker.supervisor.slots import end_leftover, take_slot

_SUPERVISE = """
import json, sys, threading
from pathlib import Path
from reinforge.schemas.worker_api import Claimed
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.models.sources import ModelStore
from worker.supervisor.slots import take_slot
from worker.supervisor.supervisor import JobSupervisor

home, url, token, claimed, *command = sys.argv[1:]
home = Path(home)
api = WorkerApi(url, token)
JobSupervisor(
    api=api, slot=take_slot(home / "workers", "trainer", "host.example"), runs=home / "runs",
    blobs=BlobCache(home / "cache", api.get_blob), models=ModelStore(home / "models"),
    sandbox=home / "sandbox.sock", stop=threading.Event(), command=command, heartbeat_seconds=0.1,
).run(Claimed.model_validate_json(claimed))
"""


def test_kill_9_of_the_supervisor_leaves_no_trainer(bench: Bench) -> None:
    bench.slot.release()
    script = "ignore metrics:1 child sleep"
    arguments = [str(bench.home), bench.server.url, TOKEN, bench.claimed(script).model_dump_json(), *TOY]
    supervisor = subprocess.Popen([sys.executable, "-c", _SUPERVISE, *arguments])
    pid = bench.trainer_pid()
    child = int(
        wait_for(lambda: (bench.folder / "child.pid").exists() and (bench.folder / "child.pid").read_text())
    )
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    wait_for(lambda: not is_running(pid))

    # What the trainer itself had started is ended by the next supervisor in its place.
    assert is_running(child)
    slot = take_slot(bench.home / "workers", "trainer", "host.example")
    assert slot.worker_id == bench.slot.worker_id
    assert child in end_leftover(slot)
    wait_for(lambda: not is_running(child))
    assert end_leftover(slot) == []


def test_a_pid_file_never_kills_a_stranger(bench: Bench) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        identity = identify(stranger.pid)
        assert identity is not None
        note = {
            "pid": stranger.pid,
            "start": identity.started - 1,
            "boot": "",
            "run": "/run/1",
        }
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for change in ({"boot": boot}, {"boot": "another", "start": identity.started}):
            bench.slot.pid_file.write_text(json.dumps(note | change))
            assert end_leftover(bench.slot) == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_workers_of_one_machine_take_different_slots(tmp_path: Path) -> None:
    slots = [take_slot(tmp_path, "trainer", "a host!") for _ in range(3)]
    assert len({slot.worker_id for slot in slots}) == 3
    slots[1].release()
    assert take_slot(tmp_path, "trainer", "a host!").worker_id == slots[1].worker_id


def test_the_own_process_group_of_a_trainer_is_not_the_supervisors(bench: Bench) -> None:
    thread = bench.run_in_thread("sleep")
    pid = bench.trainer_pid()
    assert os.getpgid(pid) == pid != os.getpgrp()
    bench.stop.set()
    thread.join(10)
