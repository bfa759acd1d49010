"""Completions: lists from the database, one in full from the step's Parquet file."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tests.backend.server import Backend, Trainer
from worker.training.reporting.rollout_table import FORKED


def row(prompt_no: int, sample_no: int) -> dict[str, Any]:
    reward = None if (prompt_no, sample_no) == (1, 1) else (prompt_no * 3 + sample_no) % 4 / 4
    return {
        "prompt_no": prompt_no,
        "sample_no": sample_no,
        "prompt_hash": f"h{prompt_no}",
        "row_index": 10 + prompt_no,
        "reward": reward,
        "advantage": None if reward is None else reward - 0.5,
        "length": 3 + sample_no,
        "finish_reason": "stop",
        "error": "exception" if reward is None else None,
        "text": f"text {prompt_no}.{sample_no}",
    }


def table(rows: list[dict[str, Any]], item: str | None = None) -> bytes:
    """As the trainer writes it: a row group per prompt."""
    out = io.BytesIO()
    full = [
        {
            **row,
            "text": row["text"] + " in full",
            "prompt": f"prompt {row['prompt_no']}",
            "prompt_messages": json.dumps([{"role": "user", "content": "?"}]),
            "item": item or json.dumps({"answer": row["prompt_no"]}),
            "token_ids": [1, 2, 3],
            "tokens": ["a", "b", "c"],
            "sampler_logprobs": [-0.5, -0.25, -0.125],
            "trainer_logprobs": [-0.5, -0.25, -0.125],
            "entropies": [0.5, 0.5, 0.5],
            "rewards": json.dumps([{"name": "right", "status": "ok", "value": 1.0, "reason": "equal"}]),
        }
        for row in rows
    ]
    schema = pa.Table.from_pylist(full).schema
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for prompt in sorted({row["prompt_no"] for row in full}):
            group = [row for row in full if row["prompt_no"] == prompt]
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
    return out.getvalue()


def send(trainer: Trainer, step: int, split: str, rows: list[dict[str, Any]]) -> None:
    blob = trainer.blob(table(rows), "rollouts")
    trainer.send({"kind": "rollouts", "step": step, "split": split, "blob": blob, "rows": rows})


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    """Two steps of 4 prompts × 3 completions, and one evaluation."""
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    rows = [row(prompt, sample) for prompt in range(4) for sample in range(3)]
    for step in (1, 2):
        send(trainer, step, "train", rows)
    send(trainer, 0, "held_out", rows[:3])
    return id


def listed(backend: Backend, job: str, **query: Any) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{job}/completions", params=query)
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.json()
    return page


def places(page: dict[str, Any]) -> list[tuple[int, int]]:
    return [(row["prompt_no"], row["sample_no"]) for row in page["data"]]


def test_the_newest_step_comes_in_whole_groups(backend: Backend, job: str) -> None:
    page = listed(backend, job, limit=4)
    assert (page["step"], page["steps"], page["total"], page["has_more"]) == (2, [1, 2], 12, True)
    assert places(page) == [(p, s) for p in (0, 1) for s in range(3)]
    rest = listed(backend, job, limit=4, offset=len(page["data"]))
    assert places(rest) == [(p, s) for p in (2, 3) for s in range(3)]
    assert rest["has_more"] is False


def test_the_worst_and_the_best(backend: Backend, job: str) -> None:
    worst = [row["reward"] for row in listed(backend, job, sort="reward", limit=11)["data"]]
    assert worst == sorted(worst)
    best = [row["reward"] for row in listed(backend, job, sort="-reward", limit=12)["data"]]
    assert best[:-1] == worst[::-1]
    assert best[-1] is None, "a completion without a reward is neither good nor bad"


def test_one_group_and_the_other_split(backend: Backend, job: str) -> None:
    assert places(listed(backend, job, step=1, prompt_no=2)) == [(2, 0), (2, 1), (2, 2)]
    page = listed(backend, job, split="held_out")
    assert (page["step"], page["steps"], len(page["data"])) == (0, [0], 3)
    assert listed(backend, job, step=9)["data"] == []


def test_a_completion_in_full(backend: Backend, job: str) -> None:
    for prompt_no, sample_no in ((0, 0), (3, 2)):
        response = backend.api.get(f"/jobs/{job}/completions/train/1/{prompt_no}/{sample_no}")
        assert response.status_code == 200, response.text
        completion = response.json()
        assert completion["text"] == f"text {prompt_no}.{sample_no} in full"
        assert (completion["prompt"], completion["item"]) == (f"prompt {prompt_no}", {"answer": prompt_no})
        assert completion["sampler_logprobs"] == [-0.5, -0.25, -0.125]
        assert completion["tokens"] == ["a", "b", "c"]
        assert (completion["rewards"][0]["name"], completion["rewards"][0]["reason"]) == ("right", "equal")
        assert completion["reward"] == row(prompt_no, sample_no)["reward"]


def test_an_item_shows_the_declared_answer_also_for_jobs_that_stored_the_plain_row(
    rpc_backend: Backend,
) -> None:
    dataset = rpc_backend.add_dataset([{"prompt": "1", "answer": "long", "result": "1"}] * 9)
    id = rpc_backend.create_job(data={"dataset": dataset, "columns": {"answer": "result"}})
    trainer = rpc_backend.claim(id)
    stored = json.dumps({"answer": "long", "result": "1"})
    blob = trainer.blob(table([row(0, 0)], item=stored), "rollouts")
    trainer.send({"kind": "rollouts", "step": 1, "split": "train", "blob": blob, "rows": [row(0, 0)]})
    item = {"answer": "1", "result": "1"}
    assert rpc_backend.api.get(f"/jobs/{id}/completions/train/1/0/0").json()["item"] == item
    assert rpc_backend.api.get(f"/jobs/{id}/groups/train/1/0").json()["item"] == item


def test_a_completion_that_is_not_there(backend: Backend, job: str) -> None:
    response = backend.api.get(f"/jobs/{job}/completions/train/1/9/0")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "completion_not_found")
    assert backend.api.get(f"/jobs/{job}/completions/other/1/0/0").status_code == 422


def test_a_step_reported_again_replaces_its_completions(rpc_backend: Backend) -> None:
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    send(trainer, 1, "train", [row(0, 0), row(0, 1)])
    send(trainer, 1, "train", [row(0, 0)])
    assert listed(rpc_backend, id)["total"] == 1


def test_the_groups_of_a_step_at_a_glance(backend: Backend, job: str) -> None:
    response = backend.api.get(f"/jobs/{job}/groups", params={"step": 1})
    assert response.status_code == 200, response.text
    groups = response.json()
    assert (groups["step"], groups["steps"]) == (1, [1, 2])
    assert [group["prompt_no"] for group in groups["data"]] == [0, 1, 2, 3]
    second = groups["data"][1]
    assert second["rewards"] == [0.75, None, 0.25], "in the order they were sampled, one without a reward"
    assert (second["tokens"], second["failed"], second["truncated"]) == (3 + 4 + 5, 1, 0)
    assert (second["prompt_hash"], second["row_index"], second["prompt"]) == ("h1", 11, "?")
    newest = backend.api.get(f"/jobs/{job}/groups", params={"split": "held_out"}).json()
    assert (newest["step"], len(newest["data"])) == (0, 1)
    gone = backend.api.get(f"/jobs/{job}/groups", params={"step": 9}).json()
    assert (gone["data"], gone["steps"]) == ([], [1, 2])


def test_other_conversations_of_a_rollout_are_behind_its_completion(rpc_backend: Backend) -> None:
    """They are read with it, and nothing that counts completions counts them."""
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    turns = json.dumps([{"no": 0, "start": 0, "end": 2, "text": "told"}])
    conversation = {
        "prompt_messages": json.dumps([{"role": "system", "content": "sub-agent"}]),
        "text": "told",
        "token_ids": [4, 5],
        "tokens": ["d", "e"],
        "sampler_logprobs": [-1.0, -2.0],
        "mask": [True, True],
        "turns": turns,
        "messages": json.dumps([{"role": "assistant", "content": "told"}]),
    }
    branches = [{"branch": number, "reason": "sub_agent", "share": 0.25} | conversation for number in (1, 2)]
    lines = parquet.read_table(io.BytesIO(table([row(0, 0), row(0, 1)]))).to_pylist()
    lines[0] |= {"branch": 0, "branches": branches}
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(lines, schema=FORKED), out, compression="zstd")
    blob = trainer.blob(out.getvalue(), "rollouts")
    rows = [row(0, 0) | {"turns": 3}, row(0, 1)]
    trainer.send({"kind": "rollouts", "step": 1, "split": "train", "blob": blob, "rows": rows})

    assert places(listed(rpc_backend, id)) == [(0, 0), (0, 1)]
    group = rpc_backend.api.get(f"/jobs/{id}/groups/train/1/0").json()["completions"]
    full = rpc_backend.api.get(f"/jobs/{id}/completions/train/1/0/0").json()
    assert [len(completion["branches"]) for completion in group] == [2, 0]
    for completion, tokens in ((group[0], []), (full, ["d", "e"])):
        assert (completion["branch"], completion["text"]) == (0, "text 0.0 in full")
        assert [branch["branch"] for branch in completion["branches"]] == [1, 2]
        for branch in completion["branches"]:
            assert (branch["reason"], branch["share"], branch["text"]) == ("sub_agent", 0.25, "told")
            assert branch["prompt_messages"] == [{"role": "system", "content": "sub-agent"}]
            assert branch["conversation"][0]["text"] == "told" and branch["tokens"] == tokens
    assert rpc_backend.api.get(f"/jobs/{id}/completions/search").json()["total"] == 2
    label = {"split": "train", "step": 1, "prompt_no": 0, "sample_no": 0, "right": True}
    assert rpc_backend.api.post(f"/jobs/{id}/labels", json={"labels": [label]}).status_code < 300
