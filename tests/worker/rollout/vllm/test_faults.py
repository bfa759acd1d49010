"""A server that hangs, dies, does not start or refuses: one restart, then a named end; and nothing left behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from reinforge.errors import JobFailure
from tests.support.vllm_bench import RANK, STARTER, Bench, Trainer
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import VllmServer
from worker.training.job_end import end_of

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # a start takes minutes on a busy machine
PROMPTS = ["12+34=", "7+8="]


def session(number: int) -> list[int]:
    """Processes of a session that are alive."""
    pids = []
    for folder in Path("/proc").iterdir():
        try:
            text = (folder / "stat").read_text() if folder.name.isdigit() else ""
        except OSError:
            continue
        parts = text[text.rindex(")") + 2 :].split() if text else []
        if parts and parts[3] == str(number) and parts[0] != "Z":
            pids.append(int(folder.name))
    return pids


def gone(number: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while session(number) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not session(number)


def test_it_is_started_again_once_with_its_adapter(python: Path, trainer: Trainer, tmp_path: Path) -> None:
    """60 s: a server of its own, since it ends for good; it is started twice."""
    bench = Bench(python, tmp_path, trainer)
    bench.server.quiet_seconds = 10.0
    try:
        trainer.move(3)
        bench.publish(3)
        bench.generate(trainer.ask(PROMPTS, version=3))
        first = bench.server.pid
        assert first is not None and len(session(first)) >= 3
        hang = threading.Timer(0.3, lambda: [os.kill(pid, signal.SIGSTOP) for pid in session(first)])
        hang.start()
        answers = bench.generate(trainer.ask(PROMPTS, version=3, max_tokens=400, stop_ids=()))
        assert any(
            "not a word for 10 s" in message and "is restarted once" in message for message in bench.messages
        )
        assert gone(first, 5)  # stopped processes too
        assert len(answers) == 2 and trainer.gap(answers) < 1e-4

        second = bench.server.pid
        assert second not in (None, first)
        kill = threading.Timer(0.3, lambda: [os.kill(pid, signal.SIGKILL) for pid in session(second)[-1:]])
        kill.start()
        with pytest.raises(JobFailure) as caught:
            bench.generate(trainer.ask(PROMPTS, version=3, max_tokens=400, stop_ids=()))
        end = end_of(caught.value)
        assert (end.outcome, end.reason) == ("failed", "vllm_lost")
        assert end.traceback and "Application startup complete" in (tmp_path / "vllm.log").read_text()
    finally:
        bench.close()
    assert gone(second, 5)
    assert not bench.server.adapters.exists()


@pytest.mark.long
def test_one_that_is_killed_asleep_is_started_again(bench: Bench, trainer: Trainer) -> None:
    """30 s: the server that all tests share is started again."""
    bench.allow_restart()
    trainer.move(3)
    bench.publish(3)
    bench.run(bench.engine.rest())
    first = bench.server.pid
    assert first is not None
    os.killpg(first, signal.SIGKILL)
    trainer.move(4)
    messages = len(bench.messages)
    bench.publish(4)
    assert (
        sum("is restarted once" in line for line in bench.messages[messages:]) == 1
        and bench.server.pid != first
    )
    assert trainer.gap(bench.generate(trainer.ask(PROMPTS, version=4))) < 1e-4


def test_a_model_that_it_cannot_load_is_a_named_end_with_the_logs_end(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "nonesuch", "architectures": ["Nonesuch"]}')
    options = Options(folder, "float32", "cpu", max_model_len=64, rank=RANK)
    server = VllmServer(python, options, tmp_path / "vllm.log")

    async def start() -> None:
        try:
            await server.ready()
        finally:
            await server.close()

    with pytest.raises(JobFailure) as caught:
        asyncio.run(start())
    end = end_of(caught.value)
    assert (end.outcome, end.reason) == ("failed", "vllm_start_failed")
    assert "nonesuch" in (end.traceback or "").lower()


def test_a_start_that_is_cancelled_ends(python: Path, trainer: Trainer, tmp_path: Path) -> None:
    bench = Bench(python, tmp_path, trainer)
    try:
        threading.Timer(1.0, bench.engine.cancel).start()
        bench.publish(3)
        assert not any("ready" in message for message in bench.messages)
        assert bench.server.pid is not None and gone(bench.server.pid, 5)
    finally:
        bench.close()


def test_nothing_outlives_a_trainer_that_was_killed(python: Path, tmp_path: Path) -> None:
    """Neither the server's processes nor its folder."""
    code = f"""
        import asyncio
        from pathlib import Path
        from worker.rollout.vllm.options import Options
        from worker.rollout.vllm.server import VllmServer
        server = VllmServer(
            Path({str(python)!r}),
            Options(Path({str(STARTER)!r}), "float32", "cpu", max_model_len=512, rank=4),
            Path({str(tmp_path / "vllm.log")!r}),
        )
        print(server.adapters, flush=True)
        asyncio.run(server.ready())
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    adapters = Path(child.stdout.readline().strip())
    keeper = None
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            text = (tmp_path / "vllm.log").read_text() if (tmp_path / "vllm.log").exists() else ""
            if "(EngineCore pid=" in text:
                break
            time.sleep(0.2)
        numbers = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
        keepers = [pid for pid in numbers if parent(pid) == child.pid]
        (keeper,) = keepers
        assert len(session(keeper)) >= 3
    finally:
        child.kill()
        child.wait()
    assert keeper is not None and gone(keeper, 10)
    assert adapters.parent.name.startswith("rf-vllm-") and not adapters.parent.exists()


def parent(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text[text.rindex(")") + 2 :].split()[1])


@pytest.mark.long
def test_an_adapter_that_is_refused_again_by_a_fresh_server_is_a_named_end(
    bench: Bench, trainer: Trainer, tmp_path: Path
) -> None:
    """30 s: the server that all tests share is started again, with what it had before."""
    bench.allow_restart()
    trainer.move(70)
    bench.publish(70)
    trainer.export("policy", tmp_path / "odd")
    config = json.loads((tmp_path / "odd" / "adapter_config.json").read_text())
    (tmp_path / "odd" / "adapter_config.json").write_text(json.dumps(config | {"use_dora": True}))
    before = bench.server.pid
    with pytest.raises(JobFailure) as caught:
        bench.publish(71, tmp_path / "odd")
    end = end_of(caught.value)
    assert (end.outcome, end.reason) == ("failed", "vllm_refused")
    assert "DoRA" in (end.message or "") and end.traceback
    assert bench.server.pid != before and (tmp_path / "odd").is_dir()  # a folder of somebody else's stays
    assert trainer.gap(bench.generate(trainer.ask(PROMPTS, version=70))) < 1e-4
