"""A job with tools as the trainer process runs it: real jail, real chat template, a model that calls the tool."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from reinforge.metrics import describe
from reinforge.offline.train import sandbox
from reinforge.records import RewardCode, RunManifest
from tests.support.mcp_stub import McpStub
from tests.support.small_jobs import small_spec, write_rows
from tests.support.tiny_models import write_calling_model

CALL = '<tool_call>{"name":"note","arguments":{"number":5}}</tool_call>'
TOOL = '''
def note(number: int) -> str:
    """Take a note."""
    return f"noted {number}"
'''
USER = """
def reply(messages, item, state):
    state["replies"] = state.get("replies", 0) + 1
    return "row 7" if state["replies"] == 1 and messages[-1]["content"] == "done" else None
"""
REWARD = """
def grade(sample, item):
    calls = sample["tool_calls"]
    roles = [message["role"] for message in sample["messages"]]
    return {"score": float(sample["output_text"] == "done"), "parts": {"calls": len(calls), "roles": len(roles)}}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("model")
    write_calling_model(folder, CALL, "noted 5", "done", tools=["note", "search"])
    torch.set_num_threads(threads)
    return folder


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("s") / "sandbox.sock"
    with sandbox(path, path.parent):
        yield path


def run(folder: Path, model: Path, socket: Path, **changes: Any) -> list[dict[str, Any]]:
    """Records of a job in a trainer process."""
    folder.mkdir(parents=True, exist_ok=True)
    reward = folder / "reward.py"
    reward.write_text(REWARD, encoding="utf-8")
    rows = write_rows(folder / "rows.jsonl", [{"prompt": f"row {n}"} for n in range(12)])
    sources = [{"type": "python", "source": TOOL}, *changes.pop("sources", ())]
    reply = {"type": "python", "source": USER}
    environment = {"type": "tools", "sources": sources, "reply": reply, "max_turns": 4}
    spec = small_spec(
        environment=environment,
        rollout__max_completion_tokens=120,
        limits__steps=2,
        optimizer__learning_rate=1e-5,
        **changes,
    )
    manifest = RunManifest(
        job="ftjob-test",
        attempt=1,
        spec=spec.model_dump(mode="json"),
        model_path=str(model),
        dataset_path=str(rows),
        rewards=[RewardCode(name="low", path=str(reward), revision="rew_1@1")],
        sandbox_socket=str(socket),
    )
    (folder / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    command = [sys.executable, "-m", "worker.trainer.main", "--run", str(folder), "--offline"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in (folder / "records.jsonl").read_bytes().splitlines()]


def test_a_job_calls_the_tool_and_reports_the_conversations(
    tmp_path: Path, model: Path, socket: Path
) -> None:
    with McpStub() as server:  # its tools are in the prompt; the model has not learned to call them
        records = run(tmp_path, model, socket, sources=[{"mcp": server.url, "include": ["search"]}])
        assert [message["method"] for _, message in server.requests].count("tools/list") == 2
    assert records[-1]["outcome"] == "succeeded", records[-1]
    values = [record for record in records if record["kind"] == "step_metrics"][-1]["values"]
    assert values["tools/note/calls"] > 0.5
    assert values["rollout/turns_max"] >= 2
    assert 0.2 < values["tokens/policy_share"] < 1
    assert all(describe(name) is not None for name in values)

    replied = 0
    rollouts = [record for record in records if record["kind"] == "rollouts"]
    assert {record["split"] for record in rollouts} == {"train", "held_out"}
    for record in rollouts:
        table = pq.read_table(io.BytesIO((tmp_path / "blobs" / record["blob"]["sha256"]).read_bytes()))
        called = [row for row in table.to_pylist() if '"status": "ok"' in row["messages"] and _all_ok(row)]
        assert len(called) > 2
        for row in called:
            turns, messages = json.loads(row["turns"]), json.loads(row["messages"])
            assert messages[1] == {
                "role": "tool", "tool_call_id": "call_0", "name": "note", "content": "noted 5", "status": "ok",
            }  # fmt: skip
            text = "".join(row["tokens"])
            assert text.startswith(f"{CALL}<end><tool>noted 5<assistant>")
            foreign = [i for i, by_policy in enumerate(row["mask"]) if not by_policy]
            suffixes = [
                "<tool>noted 5<assistant>" if turn["calls"] else "<user>row 7<assistant>" for turn in turns
            ]
            assert "".join(row["tokens"][i] for i in foreign) == "".join(suffixes[:-1])
            replies = [turn["reply"] for turn in turns if turn["reply"] is not None]
            assert [reply["status"] for reply in replies] == ["ok"] * len(replies) and replies[-1]["ended"]
            users = [message for message in messages if message["role"] == "user"]
            assert users == [{"role": "user", "content": "row 7"}] * (len(replies) - 1)
            replied += len(users)
            assert sum(row["mask"]) == row["length"] == len(row["tokens"]) - len(foreign)
        statuses = {(row["prompt_no"], row["sample_no"]): row for row in record["rows"]}
        for row in called:
            status = statuses[row["prompt_no"], row["sample_no"]]
            assert (status["turns"], status["tool_errors"]) == (len(json.loads(row["turns"])), 0)
            assert status["tool_calls"] == sum(len(turn["calls"]) for turn in json.loads(row["turns"]))
            assert status["call_keys"] == ["=ok", "note=", "note=ok"]
    assert replied > 2


def _all_ok(row: dict[str, Any]) -> bool:
    """Whether the rollout is what the model has learned, calls that run, then an answer, up to the user's end."""
    calls = [call for turn in json.loads(row["turns"]) for call in turn["calls"]]
    return row["finish_reason"] == "environment" and all(
        call["arguments"] == '{"number": 5}' for call in calls
    )
