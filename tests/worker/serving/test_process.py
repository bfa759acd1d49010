"""The serving process as its parent sees it: started late, ended in time, never left behind."""

import gc
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from reinforge.errors import Unavailable
from reinforge.system import launch
from tests.support.processes import open_pipes
from tests.support.supervised import is_running, wait_for
from worker.models.chat import renderer
from worker.serving_client.process import SERVING, Replies, ServingProcess
from worker.serving_client.protocol import Reply, SamplePrompt, ServingRequest
from worker.starter import CHECKPOINT

TOY = """
import json, os, signal, sys, threading
signal.signal(signal.SIGTERM, signal.SIG_IGN)
out = os.fdopen(3, "wb", buffering=0)
def say(**reply): out.write(json.dumps(reply).encode() + b"\\n")
for line in sys.stdin:
    message = json.loads(line)
    if "cancel" in message:
        say(id="watcher", events=[{"type": "status", "message": "cancel " + message["cancel"]}])
        continue
    request = message["request"]
    match request["model"]:
        case "echo":
            say(id=request["id"], events=[{"type": "status", "message": request["id"]}])
            say(id=request["id"], ended=True)
        case "silent":
            pass
        case "die":
            out.write(b'{"id": "ha')
            os._exit(7)
        case "hang":
            threading.Event().wait()
"""


@pytest.fixture
def serving() -> Iterator[ServingProcess]:
    serving = ServingProcess(command=(sys.executable, "-c", TOY))
    yield serving
    serving.close()


def request(id: str, model: str) -> ServingRequest:
    return ServingRequest(id=id, model=model, folder="/", prompts=[SamplePrompt(ids=[1], max_tokens=1)])


def to_the_end(replies: Replies) -> list[Reply]:
    updates = []
    while not updates or not (updates[-1].ended or updates[-1].error):
        updates.append(replies.get(timeout=60))
    return updates


def test_a_real_request_from_a_cold_start() -> None:
    serving = ServingProcess()
    started: list[bool] = []
    chat = renderer(CHECKPOINT)
    ids = chat.encode(chat.render([{"role": "user", "content": "12+30="}]))
    prompts = [SamplePrompt(ids=ids, max_tokens=30)]
    real = ServingRequest(id="a", model="starter", folder=str(CHECKPOINT), prompts=prompts, temperature=0.0)
    try:
        assert serving.pid is None
        for _ in range(2):
            with serving.sample(real, lambda: started.append(True)) as replies:
                events = [event for reply in to_the_end(replies) for event in reply.events]
            assert [event["text"] for event in events if event["type"] == "done"] == ["<answer>42</answer>"]
        assert started == [True]
        pid = serving.pid
        assert pid is not None
    finally:
        serving.close()
    assert not is_running(pid)


def test_replies_reach_the_request_they_are_for(serving: ServingProcess) -> None:
    def ask(number: int) -> None:
        for turn in range(20):
            id = f"{number}-{turn}"
            with serving.sample(request(id, "echo"), lambda: None) as replies:
                received.append((id, to_the_end(replies)[0].events[0]["message"]))

    received: list[tuple[str, str]] = []
    with serving.sample(request("first", "echo"), lambda: None):
        pass  # started by this thread, which outlives the others
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(received) == 80 and all(id == message for id, message in received)


def test_leaving_a_request_cancels_it(serving: ServingProcess) -> None:
    with serving.sample(request("watcher", "silent"), lambda: None) as watching:
        with suppress(KeyError), serving.sample(request("left", "silent"), lambda: None):
            raise KeyError
        assert watching.get(timeout=20).events[0]["message"] == "cancel left"


def test_its_death_reaches_every_request_and_the_next_one_restarts_it(serving: ServingProcess) -> None:
    with (
        serving.sample(request("waits", "silent"), lambda: None) as waiting,
        serving.sample(request("last", "die"), lambda: None) as replies,
    ):
        for replies_of in (replies, waiting):
            error = to_the_end(replies_of)[-1].error
            assert error is not None
            assert (error["code"], "status 7" in error["message"]) == ("serving_lost", True)
    with serving.sample(request("new", "echo"), lambda: None) as replies:
        assert to_the_end(replies)[-1].ended


def test_no_pipe_to_one_that_died_stays_open() -> None:
    gc.disable()
    try:
        before = open_pipes()
        serving = ServingProcess(command=(sys.executable, "-c", TOY))
        with serving.sample(request("last", "die"), lambda: None) as replies:
            to_the_end(replies)
        wait_for(lambda: open_pipes() - before == set())
        serving.close()
    finally:
        gc.enable()


def test_a_program_that_cannot_run_is_an_error() -> None:
    serving = ServingProcess(command=(sys.executable, "-c", "raise SystemExit(3)"))
    with suppress(Unavailable), serving.sample(request("a", "echo"), lambda: None) as replies:
        assert (to_the_end(replies)[-1].error or {})["code"] == "serving_lost"
    serving.close()


def test_it_ends_after_a_while_without_requests() -> None:
    serving = ServingProcess(idle_seconds=0.2, command=(sys.executable, "-c", TOY))
    with serving.sample(request("a", "echo"), lambda: None) as replies:
        to_the_end(replies)
        pid = serving.pid
        with pytest.raises(queue.Empty):
            replies.get(timeout=0.5)  # longer than it may be idle, but a request is open
        assert serving.pid == pid
    assert pid is not None
    wait_for(lambda: serving.pid is None and not is_running(pid))
    with serving.sample(request("b", "echo"), lambda: None) as replies:
        assert to_the_end(replies)[-1].ended
    serving.close()


def test_one_that_does_not_listen_is_killed(serving: ServingProcess) -> None:
    with serving.sample(request("a", "hang"), lambda: None):
        pid = serving.pid
        assert pid is not None
    serving.close()
    assert not is_running(pid)


def test_kill_9_of_the_parent_leaves_nothing() -> None:
    program = (
        "import sys, time\n"
        "from tests.worker.serving.test_process import TOY, request\n"
        "from worker.serving_client.process import ServingProcess\n"
        "serving = ServingProcess(command=(sys.executable, '-c', TOY))\n"
        "with serving.sample(request('a', 'hang'), lambda: None):\n"
        "    print(serving.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not is_running(pid))


@pytest.mark.long
def test_the_real_one_ends_at_eof_even_in_the_middle_of_a_request() -> None:
    read_end, write_end = os.pipe()
    command = [launch.__file__, str(os.getpid()), "0", "0", str(write_end), *SERVING]
    process = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, pass_fds=(write_end,))
    os.close(write_end)
    assert process.stdin is not None
    prompts = [SamplePrompt(ids=[5], max_tokens=500)]
    long = ServingRequest(
        id="a",
        model="starter",
        folder=str(CHECKPOINT),
        prompts=prompts,
        samples_per_prompt=64,
        temperature=9.0,
    )
    process.stdin.write(b'{"request": ' + long.model_dump_json().encode() + b"}\n")
    process.stdin.flush()
    with os.fdopen(read_end, "rb") as pipe:
        assert b"Loading" in pipe.readline()
        assert b"prompt" in pipe.readline()
        assert b"delta" in pipe.readline()
        process.stdin.close()
        process.wait(20)
    assert process.returncode == 0
