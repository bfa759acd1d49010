"""Log lines: their format, and the request and job that they belong to."""

import asyncio
import io
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from reinforge.system import logs
from worker.sandbox import log_lines

log = logging.getLogger("tests.logs")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream, handler = io.StringIO(), logging.StreamHandler()
    handler.setStream(stream)
    handler.setFormatter(logs.JsonLines("api"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield stream
    log.removeHandler(handler)


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_object_whatever_it_says(lines: io.StringIO) -> None:
    log.warning("two\nlines of %s", "ftjob-Ab1")
    try:
        raise ValueError("é")
    except ValueError:
        log.exception("failed")
    first, second = read(lines)
    assert (first["level"], first["process"], first["logger"]) == ("warning", "api", "tests.logs")
    assert first["message"] == "two\nlines of ftjob-Ab1"
    assert first["job"] == "ftjob-Ab1"
    assert first["ts"].endswith("+00:00")
    assert second["exception"].endswith("ValueError: é")


def test_lines_of_concurrent_requests_have_their_own_ids(lines: io.StringIO) -> None:
    async def request(number: int) -> None:
        with logs.log_context(request_id=f"req_{number}", job=None):
            await asyncio.sleep(0)
            log.info("%d", number)

    async def both() -> None:
        await asyncio.gather(request(1), request(2))
        log.info("outside")

    asyncio.run(both())
    assert [(line["message"], line.get("request_id")) for line in read(lines)] == [
        ("1", "req_1"),
        ("2", "req_2"),
        ("outside", None),
    ]
    assert all("job" not in line for line in read(lines))


def test_all_threads_of_a_worker_name_its_job(lines: io.StringIO) -> None:
    with logs.process_log_context(job="ftjob-1", attempt=2):
        thread = threading.Thread(target=lambda: log.info("heartbeat"))
        thread.start()
        thread.join()
    log.info("idle")
    heartbeat, idle = read(lines)
    assert (heartbeat["job"], heartbeat["attempt"]) == ("ftjob-1", 2)
    assert "job" not in idle


@pytest.mark.parametrize("arguments", [("backend", "migrate"), ("worker", "calls")])
def test_each_process_refuses_another_format(arguments: tuple[str, ...]) -> None:
    environment = os.environ | {"REINFORGE_LOG_FORMAT": "xml", "REINFORGE_WORKER_TOKEN": "x"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode in (1, 2)
    assert "REINFORGE_LOG_FORMAT is 'xml', which is not a log format." in done.stderr


def test_uncaught_exceptions_and_warnings_are_json() -> None:
    code = (
        "import warnings, threading; from reinforge.system.logs import configure; configure('worker')\n"
        "warnings.warn('careful')\n"
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()\n"
        "raise RuntimeError('the end')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"REINFORGE_LOG_FORMAT": "json"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    warning, in_thread, end = [json.loads(line) for line in done.stderr.splitlines()]
    assert "careful" in warning["message"]
    assert in_thread["exception"].endswith("ZeroDivisionError: division by zero")
    assert end["exception"].endswith("RuntimeError: the end")
    assert done.returncode == 1


def test_the_sandbox_writes_the_same_fields(monkeypatch: pytest.MonkeyPatch, lines: io.StringIO) -> None:
    assert log_lines.line("ready", "info") == "sandboxd: ready"
    monkeypatch.setenv("REINFORGE_LOG_FORMAT", "json")
    log.info("ready")
    [line] = read(lines)
    assert json.loads(log_lines.line("ready", "info")).keys() == line.keys()
