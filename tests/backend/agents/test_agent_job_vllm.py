"""A job whose rollouts are run by a program, sampled by a real vLLM server."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import worker.starter
from scripts.openai_sdks import install
from tests.backend.agents.rollouts import agent_trainer
from tests.backend.agents.table_trainer import RunnerThread
from tests.backend.agents.trainer_run import TrainerRun
from tests.backend.server import Backend
from worker.machine.vllm_python import vllm_missing, vllm_python

STARTER = Path(worker.starter.__file__).parent / "starter-tools"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
STEPS, PROMPTS, SAMPLES = 3, 4, 4


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("rpc_backend")
def test_a_program_is_answered_and_trained_with_the_tokens_of_vllm(
    backend: Backend, tmp_path: Path, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert vllm_python() is not None, f"`make vllm` installs what this needs: {vllm_missing()}"
    path = [str(install()["3"]), str(EXAMPLES / "own-program"), str(Path(__file__).parent)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("AGENT_ANSWERS", str(tmp_path / "answers.jsonl"))
    tasks = (EXAMPLES / "calculator-agent" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    attempt = agent_trainer(backend)
    runner = RunnerThread(backend, attempt.claimed["job"], "recording_agent:play", concurrency=4)
    runner.start()
    trainer = TrainerRun(
        tmp_path / "run",
        backend,
        attempt,
        STARTER,
        socket,
        rows=[json.loads(line) for line in tasks[:32]],
        rollout__engine="vllm",
        rollout__prompts_per_step=PROMPTS,
        rollout__completions_per_prompt=SAMPLES,
        limits__steps=STEPS,
        optimizer__learning_rate=1e-3,
    )
    try:
        records = trainer.records(900)
    finally:
        trainer.kill()
        attempt.end("failed", reason="test_over")
        runner.join(30)
    assert records[-1]["outcome"] == "succeeded", records[-1]
    [started] = [record for record in records if record["kind"] == "started"]
    assert started["facts"]["engine"] == "vllm"
    steps = [record["values"] for record in records if record["kind"] == "step_metrics"]
    assert len(steps) == STEPS and all(values["sampler/gap_max"] < 1e-3 for values in steps)
    assert max(values["rollout/turns_mean"] for values in steps) > 1
    received = sorted((tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines())
    rollouts = [record for record in records if record["kind"] == "rollouts"]
    stored = [answers(record["step"], row) for record in rollouts for row in trainer.rows(record)]
    assert sorted(stored) == received and len(received) == STEPS * PROMPTS * SAMPLES
    gaps = [gap for record in rollouts for row in trainer.rows(record) for gap in logprob_gaps(row)]
    assert len(gaps) > 100 and max(gaps) < 1e-3


def answers(step: int, row: dict[str, Any]) -> str:
    """The policy's messages of a stored conversation, as the program writes those that it received."""
    messages = [message for message in json.loads(row["messages"]) if message["role"] == "assistant"]
    fields = [
        {"content": message["content"], "tool_calls": message.get("tool_calls")} for message in messages
    ]
    return json.dumps({"step": step, "answers": fields}, sort_keys=True)


def logprob_gaps(row: dict[str, Any]) -> list[float]:
    """Of all tokens that were sampled; they are the texts of the turns, each with the token that ended it."""
    turns, places = json.loads(row["turns"]), range(len(row["tokens"]))
    for turn in turns:
        text = "".join(row["tokens"][turn["start"] : turn["end"]])
        assert text.removesuffix("<|end|>") == turn["text"]
    sampled = [place for turn in turns for place in range(turn["start"], turn["end"])]
    assert [place for place in places if row["mask"][place]] == sampled
    if row["trainer_logprobs"] is None:
        return []
    return [abs(row["trainer_logprobs"][place] - row["sampler_logprobs"][place]) for place in sampled]
