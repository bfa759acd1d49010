"""A whole job on a base model that two ranks share, sampled by vLLM, that loses a rank."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import worker
from reinforge.offline.train import sandbox
from tests.worker.trainer.test_ranks import RankedTrainer, steps_of

pytestmark = [pytest.mark.vllm, pytest.mark.long, pytest.mark.timeout(900)]
SHARDED = {"base__sharded": True, "rollout__engine": "vllm", "model": "starter-arith"}


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    with sandbox(tmp_path / "s.sock", tmp_path):
        yield Path(worker.__path__[0]) / "starter" / "starter-arith", tmp_path / "s.sock"


def test_a_lost_rank_ends_the_attempt_and_the_next_goes_on(tmp_path: Path, shared: tuple[Path, Path]) -> None:
    trainer = RankedTrainer(tmp_path / "killed", shared, None, **SHARDED)
    trainer.until(lambda trainer: 2 in steps_of(trainer), 400)
    logged = [record["message"] for record in trainer.records if record["kind"] == "log"]
    assert any("layers are divided among 2 ranks" in message for message in logged)
    assert any(message.startswith("vLLM and the trainer agree about the policy") for message in logged)
    (other,) = trainer.ranks
    os.kill(other, signal.SIGKILL)
    trainer.process.wait(60)
    ended = trainer.records[-1]
    assert (ended["outcome"], ended["reason"]) == ("failed", "rank_lost"), trainer.log
    saved = [record for record in trainer.records if record["kind"] == "resume_state_saved"][-1]
    resume = trainer.folder / "blobs" / saved["blob"]["sha256"]
    again = RankedTrainer(tmp_path / "again", shared, resume, **SHARDED)
    again.process.wait(400)
    assert again.records[-1]["outcome"] == "succeeded" and steps_of(again)[0] == saved["step"] + 1
