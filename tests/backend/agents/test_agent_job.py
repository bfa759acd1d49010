"""A job whose rollouts are run by a program of somebody's own: OpenAI's SDK over HTTP, the trainer, the tiny model."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from scripts.agent_clients import FOLDER as CLIENTS
from scripts.agent_clients import is_installed
from scripts.openai_sdks import FOLDER
from tests.backend.agents.rollouts import agent_trainer
from tests.backend.agents.table_trainer import RunnerThread
from tests.backend.agents.trainer_run import TrainerRun
from tests.backend.server import Backend
from tests.support.tiny_models import write_calling_model

CALL = '<tool_call>{"name":"note","arguments":{"number":5}}</tool_call>'
RESULT = "<tool>noted 5<assistant>"
SDK = FOLDER / "3"

pytestmark = [
    pytest.mark.usefixtures("rpc_backend"),
    pytest.mark.skipif(
        not (SDK / "complete").exists(), reason="scripts/openai_sdks.py installs OpenAI's SDK"
    ),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("model")
    write_calling_model(folder, CALL, "noted 5", "done", tools=["note"])
    torch.set_num_threads(threads)
    return folder


@pytest.mark.long
def test_a_job_trains_what_was_sampled_for_a_program(
    backend: Backend, tmp_path: Path, model: Path, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{SDK}:{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}")
    attempt = agent_trainer(backend)
    runner = RunnerThread(backend, attempt.claimed["job"], "openai_agent:play")
    runner.start()
    trainer = TrainerRun(tmp_path, backend, attempt, model, socket)
    try:
        records = trainer.records()
    finally:
        trainer.kill()
        attempt.end("failed", reason="test_over")
        runner.join(30)
    assert records[-1]["outcome"] == "succeeded", records[-1]
    assert runner.counts is not None and runner.counts.succeeded + runner.counts.failed == 24
    assert runner.counts.failed == 2, "row 7, once with each of its two completions"
    rollouts = [record for record in records if record["kind"] == "rollouts"]
    assert [record["step"] for record in rollouts] == [1, 2]
    for record in rollouts:
        check_tokens(trainer.rows(record), least=10)
    failed = [row for record in rollouts for row in record["rows"] if row["error"]]
    assert {row["error"] for row in failed} == {"agent_error"} and len(failed) == 2
    assert backend.sql("SELECT 1 FROM agent_rollout") == []
    assert backend.sql("SELECT 1 FROM model_call") == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("library", "target"),
    [
        ("openai-agents", "agents_sdk_agent:play"),
        ("openai-agents", "agents_sdk_agent:complete"),
        ("langgraph", "langgraph_agent:play"),
        ("verifiers", "verifiers_agent:play"),
    ],
)
def test_a_job_trains_programs_of_client_libraries(
    backend: Backend,
    tmp_path: Path,
    model: Path,
    socket: Path,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    target: str,
) -> None:
    if not is_installed(library):
        pytest.skip(f"scripts/agent_clients.py {library} installs it")
    path = [str(CLIENTS / library), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    attempt = agent_trainer(backend)
    runner = RunnerThread(backend, attempt.claimed["job"], target)
    runner.start()
    changes = {"limits__steps": 3, "rollout__prompts_per_step": 2}
    trainer = TrainerRun(tmp_path, backend, attempt, model, socket, **changes)
    try:
        records = trainer.records()
    finally:
        trainer.kill()
        attempt.end("failed", reason="test_over")
        runner.join(30)
    assert records[-1]["outcome"] == "succeeded", records[-1]
    assert runner.counts is not None and runner.counts.succeeded + runner.counts.failed == 12
    rollouts = [record for record in records if record["kind"] == "rollouts"]
    assert [record["step"] for record in rollouts] == [1, 2, 3]
    rows = [row for record in rollouts for row in trainer.rows(record)]
    check_tokens(rows, least=10)


def check_tokens(rows: list[dict[str, Any]], least: int) -> None:
    """Trained tokens are those of the model; what the program wrote is masked."""
    good = [row for row in rows if row["error"] is None]
    called = [row for row in good if "".join(row["tokens"]) == f"{CALL}<end>{RESULT}done<end>"]
    assert len(good) >= least and len(called) >= least / 2, "it writes what it has learned, mostly"
    for row in called:
        assert len(json.loads(row["turns"])) == 2 and row["reward"] == 1.0
        messages = json.loads(row["messages"])
        assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]
    for row in good:
        foreign = [place for place, by_policy in enumerate(row["mask"]) if not by_policy]
        results = len(json.loads(row["turns"])) - 1
        text = "".join(row["tokens"][place] for place in foreign)
        assert text.count("<tool>noted ") == text.count("<assistant>") == results
        trained = [place for place, by_policy in enumerate(row["mask"]) if by_policy]
        assert row["length"] == len(trained)
        if row["trainer_logprobs"] is not None:
            gaps = [abs(row["trainer_logprobs"][place] - row["sampler_logprobs"][place]) for place in trained]
            assert max(gaps) < 1e-3
