"""Hosts of this machine as processes: who starts them, who finds them, and how they end."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reinforge.errors import JobFailure
from tests.support.shared_hosts import SHA, write_adapter
from worker.engine_host.client import local
from worker.engine_host.client.fallback import SharedServer
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.client.local import (
    HostNote,
    HostTooSmall,
    LocalHosts,
    environment,
    host_key,
    shared_options,
)
from worker.engine_host.folders import private_folder
from worker.engine_host.protocol import HostFacts
from worker.rollout.vllm.options import Options

STUB = Path(__file__).parents[2] / "support" / "stub_vllm_command.py"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {STUB} "$@"\n')
    script.chmod(0o700)
    return script


@pytest.fixture
def hosts(tmp_path: Path, python: Path) -> Iterator[LocalHosts]:
    options = Options(tmp_path, "float32", "cpu", max_model_len=64, rank=4)
    made = LocalHosts(tmp_path / "hosts", python, options, SHA, 64, 4, idle_seconds=60.0, context=512)
    yield made
    for path in (tmp_path / "hosts").glob("*/host.json"):
        note = HostNote.model_validate_json(path.read_bytes())
        if note.process.alive:
            os.kill(note.process.pid, signal.SIGTERM)
            until(lambda note=note: not note.process.alive)
            assert not note.folder.exists()


def until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def note_of(hosts: LocalHosts) -> HostNote:
    note = local.read_note(hosts.folder)
    assert note is not None
    return note


def facts_of(address: Any) -> HostFacts:
    with address.client() as client:
        return HostFacts.model_validate_json(client.get("/v1/host").content)


def test_two_that_start_together_start_one_host(hosts: LocalHosts) -> None:
    opened: list[Any] = []
    threads = [threading.Thread(target=lambda: opened.append(hosts.open())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    facts = [facts_of(address) for address, _ in opened]
    assert len({one.pid for one in facts}) == 1 and facts[0].leases == 3
    assert len({lease.lease for _, lease in opened}) == 3
    assert facts[0].pid == note_of(hosts).process.pid != os.getpid()


def test_it_is_in_a_session_of_its_own_and_nobody_else_may_read_its_socket(hosts: LocalHosts) -> None:
    hosts.open()
    note = note_of(hosts)
    assert os.getsid(note.process.pid) == note.process.pid
    assert note.folder.stat().st_mode & 0o077 == 0


def test_a_killed_host_is_replaced_and_its_folder_removed(hosts: LocalHosts) -> None:
    hosts.open()
    first = note_of(hosts)
    os.kill(first.process.pid, signal.SIGKILL)
    until(lambda: not first.process.alive)
    hosts.open()
    assert note_of(hosts).process.pid != first.process.pid and not first.folder.exists()


def test_an_adapter_is_sampled_from_the_next_host_after_a_kill(hosts: LocalHosts, tmp_path: Path) -> None:
    async def through_a_kill() -> list[int]:
        server = HostedServer(hosts)
        try:
            await server.ready()
            process = note_of(hosts).process
            os.kill(process.pid, signal.SIGKILL)
            api = await server.restart("it was killed")
            await api.load("p", write_adapter(tmp_path / "p"))
            return [token async for piece in api.complete({"model": "p"}) for token in piece.token_ids]
        finally:
            await server.close()

    assert asyncio.run(through_a_kill()) == [1, 1, 1, 1]


def test_an_idle_host_ends_and_leaves_nothing(hosts: LocalHosts) -> None:
    brief = replace(hosts, idle_seconds=0.5)

    async def use() -> HostNote:
        server = HostedServer(brief)
        await server.ready()
        note = note_of(brief)
        await server.close()
        return note

    note = asyncio.run(use())
    until(lambda: not note.process.alive)
    assert not note.folder.exists() and not (brief.folder / local.NOTE).exists()


def test_an_idle_host_ends_also_if_its_home_was_deleted(hosts: LocalHosts) -> None:
    brief = replace(hosts, idle_seconds=0.5)
    address, lease = brief.open()
    note = note_of(brief)
    shutil.rmtree(brief.folder.parent)
    with address.client() as client:
        client.delete(f"/v1/leases/{lease.lease}")
    until(lambda: not note.process.alive)
    assert not note.folder.exists()


def test_a_host_ends_after_the_worker_of_its_clients(hosts: LocalHosts, tmp_path: Path) -> None:
    """A client below a worker, both killed."""
    client = f"""
        import time
        from pathlib import Path
        from worker.engine_host.client.local import LocalHosts
        from worker.rollout.vllm.options import Options
        options = Options(Path({str(tmp_path)!r}), "float32", "cpu", max_model_len=64, rank=4)
        LocalHosts(Path({str(hosts.home)!r}), Path({str(hosts.python)!r}), options, {SHA!r}, 64, 4, 600.0).open()
        print("open", flush=True)
        time.sleep(600)
    """
    worker = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {textwrap.dedent(client)!r}])"
    process = subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == b"open\n"
    note = note_of(hosts)
    assert note.process.alive
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not note.process.alive)
    assert not note.folder.exists()


def test_an_unused_host_gives_way_to_a_larger_one_and_a_used_one_does_not(hosts: LocalHosts) -> None:
    address, lease = hosts.open()
    larger = replace(hosts, longest=700, options=replace(hosts.options, max_model_len=700))
    assert (
        facts_of(address).max_model_len == 512
    )  # the model's context: others may need more than the first one
    with pytest.raises(HostTooSmall, match="700"):
        larger.open()
    with address.client() as client:
        client.delete(f"/v1/leases/{lease.lease}")
    first = note_of(hosts).process.pid
    address, _ = larger.open()
    assert facts_of(address).max_model_len == 700 and note_of(hosts).process.pid != first


def test_a_job_for_which_it_is_too_small_gets_a_server_of_its_own(hosts: LocalHosts, tmp_path: Path) -> None:
    class OwnServer(HostedServer):
        async def ready(self) -> Any:
            return "its own"

    hosts.open()
    messages: list[str] = []
    larger = HostedServer(replace(hosts, rank=64))
    shared = SharedServer(larger, lambda: OwnServer(hosts), notify=messages.append)

    async def use() -> Any:
        try:
            return await shared.ready()
        finally:
            await shared.close()

    assert asyncio.run(use()) == "its own" and shared.facts is None
    assert len(messages) == 1 and "the job needs 64" in messages[0]


def test_folders_of_killed_processes_are_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = "from worker.engine_host.folders import *; print(private_folder('lease'), flush=True); input()"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    own = private_folder("host")
    assert folder.is_dir() and folder.parent == tmp_path  # its process lives
    child.kill()
    child.communicate()
    private_folder("host")
    assert not folder.exists() and own.is_dir()


def test_one_that_does_not_start_is_a_named_end(hosts: LocalHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "COMMAND", (sys.executable, "-c", "raise SystemExit(1)"))
    with pytest.raises(JobFailure) as caught:
        hosts.open()
    assert caught.value.code == "sampler_host_failed" and "host.log" in str(caught.value.hint)


def test_hosts_are_apart_by_model_dtype_and_devices(
    hosts: LocalHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = hosts.options
    keys = {host_key(plain, SHA), host_key(replace(plain, dtype="bfloat16"), SHA), host_key(plain, "b" * 64)}
    keys.add(host_key(replace(plain, devices=("1",)), SHA))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-7")
    keys.add(host_key(plain, SHA))
    assert len(keys) == 5
    assert host_key(plain, SHA) == host_key(replace(plain, max_model_len=9, rank=1, threads=2), SHA)


def test_options_for_several_clients(hosts: LocalHosts) -> None:
    made = shared_options(replace(hosts.options, sleeps="weights", rank=17), 40_960)
    assert (made.max_model_len, made.rank, made.loras, made.sleeps) == (1920, 32, 4, "no")
    assert shared_options(replace(hosts.options, max_model_len=5000), 40_960).max_model_len == 5000
    on_gpu = replace(hosts.options, device="cuda")
    assert shared_options(on_gpu, 40_960).max_model_len == 64  # its cache was sized for that


def test_its_environment_has_neither_the_run_nor_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "REINFORGE_RUN",
        "REINFORGE_SAMPLER_TOKEN",
        "REINFORGE_WORKER_TOKEN",
        "REINFORGE_REWARD_SECRETS",
    ):
        monkeypatch.setenv(name, "x")
    assert not [
        name for name, value in environment().items() if value == "x" and name.startswith("REINFORGE")
    ]
