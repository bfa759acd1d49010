"""Uploaded files are read in processes with little memory and without the server's secrets."""

import asyncio
import operator
import os
import resource
import time
from pathlib import Path

import pytest

from backend.datasets.uploads.inspection import run_child
from backend.processes import pool
from backend.processes.child import NICE
from backend.processes.pool import MEMORY_BYTES, ChildDied, Children, child_environment

SECRETS = (
    "DATABASE_URL",
    "REINFORGE_DATABASE_URL",
    "REINFORGE_SECRET_KEY",
    "REINFORGE_WORKER_TOKEN",
    "ANY_NAME",
)
PRINT = ("timeit", "-n1", "-r1", "import os; print(sorted(os.environ))")


def test_a_child_has_none_of_the_servers_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "secret")
    output, status = asyncio.run(run_child(*PRINT))
    assert status == 0 and b"PATH" in output
    assert b"REINFORGE" not in output and b"ANY_NAME" not in output


def test_a_child_that_reads_rows_never_had_the_servers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process is started with stays readable in /proc, whatever it clears."""
    for name in SECRETS:
        monkeypatch.setenv(name, "a-secret-of-the-server")

    async def environ() -> tuple[bytes, int]:
        children = Children()
        try:
            pid = await children.ask(os.getpid)
            return await children.ask(Path.read_bytes, Path("/proc/self/environ")), pid
        finally:
            await children.close()

    variables, pid = asyncio.run(environ())
    assert pid != os.getpid()
    names = {line.partition(b"=")[0].decode() for line in variables.split(b"\0") if line}
    assert "PATH" in names
    assert names <= set(child_environment())
    assert b"a-secret-of-the-server" not in variables


def test_the_server_goes_before_its_children() -> None:
    async def priority() -> int:
        children = Children()
        try:
            return await children.ask(os.nice, 0)
        finally:
            await children.close()

    assert asyncio.run(priority()) == os.nice(0) + NICE


def test_a_child_is_reused_and_one_that_dies_is_replaced() -> None:
    async def ask() -> tuple[int, int, int]:
        children = Children()
        try:
            first, again = await children.ask(os.getpid), await children.ask(os.getpid)
            with pytest.raises(ChildDied):
                await children.ask(os._exit, 3)
            return first, again, await children.ask(os.getpid)
        finally:
            await children.close()

    first, again, replaced = asyncio.run(ask())
    assert first == again != replaced


def test_spare_children_end_soon_and_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SPARE_SECONDS", 0.0)

    async def ask() -> tuple[set[int], int, list[int]]:
        children = Children()
        try:
            used = set(await asyncio.gather(*(children.ask(os.getpid) for _ in range(3))))
            await asyncio.sleep(0.5)
            return used, await children.ask(os.getpid), [pid for pid in used if Path(f"/proc/{pid}").exists()]
        finally:
            await children.close()

    used, reused, running = asyncio.run(ask())
    assert len(used) == 3 and running == [reused]


def test_a_child_whose_request_is_cancelled_ends() -> None:
    async def give_up() -> int:
        children = Children()
        pid = await children.ask(os.getpid)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(children.ask(time.sleep, 60), 0.2)
        await children.close()
        return pid

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(give_up()), 0)


def test_a_child_has_a_limit_of_memory_and_says_what_goes_wrong() -> None:
    async def fail() -> None:
        children = Children()
        try:
            limit = await children.ask(resource.getrlimit, resource.RLIMIT_AS)
            assert limit == (MEMORY_BYTES, MEMORY_BYTES)
            with pytest.raises(MemoryError):
                await children.ask(bytes, MEMORY_BYTES)
            with pytest.raises(ZeroDivisionError):
                await children.ask(operator.truediv, 1, 0)
            await children.ask(print, "no answer")
        finally:
            await children.close()

    asyncio.run(fail())
