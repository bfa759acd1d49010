"""One prompt at one step: its completions as stored, the reference answer, and where else it was sampled."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tests.backend.server import Backend, Trainer


def group(prompt_no: int, prompt_hash: str, **changes: Any) -> list[dict[str, Any]]:
    """Two completions of one prompt, as rows of the file."""
    common = {
        "prompt_no": prompt_no,
        "prompt_hash": prompt_hash,
        "row_index": 40 + prompt_no,
        "prompt": f"asked {prompt_hash}",
        "prompt_messages": json.dumps([{"role": "user", "content": prompt_hash}]),
        "item": json.dumps(
            {"question": "?", "answer": "42", "right": {"value": [1, "ä"]}}, ensure_ascii=False
        ),
        "token_ids": [1, 2],
        "tokens": ["a", "b"],
        "sampler_logprobs": [-0.5, -0.25],
        "trainer_logprobs": [-0.75, -0.125],
        "entropies": [0.5, 0.25],
        "length": 2,
        "finish_reason": "stop",
        "error": None,
        "rewards": json.dumps([{"name": "right", "status": "ok", "value": 1.0, "parts": {"format": 0.5}}]),
    } | changes
    rewards = (1.0, 0.0)
    return [
        common
        | {
            "sample_no": n,
            "reward": reward,
            "advantage": reward - 0.5,
            "text": f"<b>{prompt_hash}</b> {n} " * 400,
        }
        for n, reward in enumerate(rewards)
    ]


def send(trainer: Trainer, step: int, split: str, groups: list[list[dict[str, Any]]], **options: Any) -> None:
    """As the trainer does, a row group per prompt; `options` go to the Parquet writer."""
    out = io.BytesIO()
    schema = pa.Table.from_pylist([row for rows in groups for row in rows]).schema
    with parquet.ParquetWriter(out, schema, compression="zstd", **options) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    narrow = [
        "prompt_no", "sample_no", "prompt_hash", "row_index", "reward", "advantage", "length", "finish_reason",
        "error", "text",
    ]  # fmt: skip
    rows = [{name: row[name] for name in narrow} for group in groups for row in group]
    rows = [row | {"text": row["text"][:2000]} for row in rows]
    blob = trainer.blob(out.getvalue(), "rollouts")
    trainer.send({"kind": "rollouts", "step": step, "split": split, "blob": blob, "rows": rows})


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    """The prompt `same` is sampled at steps 1, 3 and 4, at each under another number, and held out at step 0."""
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    send(trainer, 0, "held_out", [group(0, "same", trainer_logprobs=None, entropies=None)])
    send(trainer, 1, "train", [group(0, "other"), group(1, "same"), group(2, "third")])
    send(trainer, 2, "train", [group(0, "other")])
    send(trainer, 3, "train", [group(4, "same"), group(7, "other")])  # groups that were dropped leave gaps
    send(trainer, 4, "train", [group(0, "same")], write_statistics=False)
    return id


def group_of(backend: Backend, job: str, split: str, step: int, prompt_no: int) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{job}/groups/{split}/{step}/{prompt_no}")
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.parametrize(("step", "prompt_no"), [(1, 1), (3, 4), (4, 0)])
def test_a_group_has_its_prompt_its_completions_and_its_steps(
    rpc_backend: Backend, job: str, step: int, prompt_no: int
) -> None:
    answer = group_of(rpc_backend, job, "train", step, prompt_no)
    assert (answer["step"], answer["split"], answer["prompt_no"]) == (step, "train", prompt_no)
    assert (answer["prompt_hash"], answer["row_index"]) == ("same", 40 + prompt_no)
    assert answer["prompt"] == "asked same"
    assert answer["prompt_messages"] == [{"role": "user", "content": "same"}]
    assert answer["steps"] == [1, 3, 4]
    assert answer["answer"] == "42"
    assert [
        (completion["sample_no"], completion["reward"], completion["advantage"])
        for completion in answer["completions"]
    ] == [
        (0, 1.0, 0.5),
        (1, 0.0, -0.5),
    ]
    for completion in answer["completions"]:
        assert completion["text"] == f"<b>same</b> {completion['sample_no']} " * 400, (
            "whole, not its first 2,000 characters"
        )
        assert completion["rewards"][0]["parts"] == {"format": 0.5}
        for tokens in ("token_ids", "tokens", "sampler_logprobs", "trainer_logprobs", "entropies"):
            assert completion[tokens] == []


def test_splits_are_apart(rpc_backend: Backend, job: str) -> None:
    assert group_of(rpc_backend, job, "held_out", 0, 0)["steps"] == [0]
    for split, step, prompt_no in (("train", 0, 0), ("held_out", 1, 1), ("train", 1, 3), ("train", 3, 0)):
        response = rpc_backend.api.get(f"/jobs/{job}/groups/{split}/{step}/{prompt_no}")
        assert (response.status_code, response.json()["error"]["code"]) == (404, "group_not_found")
    assert rpc_backend.api.get("/jobs/ftjob-none/groups/train/1/1").status_code == 404


@pytest.mark.parametrize("step", [1, 4])
def test_one_completion_has_the_log_probabilities_of_sampler_and_trainer(
    rpc_backend: Backend, job: str, step: int
) -> None:
    one = rpc_backend.api.get(f"/jobs/{job}/completions/train/{step}/0/1").json()
    assert (one["sampler_logprobs"], one["trainer_logprobs"]) == ([-0.5, -0.25], [-0.75, -0.125])
    held_out = rpc_backend.api.get(f"/jobs/{job}/completions/held_out/0/0/1").json()
    assert (held_out["sampler_logprobs"], held_out["trainer_logprobs"]) == ([-0.5, -0.25], [])


@pytest.mark.parametrize(
    ("columns", "item", "answer"),
    [
        ({"answer": "right"}, {"right": {"value": [1, "ä"]}}, '{"value": [1, "ä"]}'),
        ({"answer": "right"}, {"right": 0, "answer": "wrong column"}, "0"),
        ({"answer": "right"}, {"right": ""}, ""),
        ({}, {"answer": "7"}, "7"),
        ({}, {"answer": None}, None),
        ({}, {"solution": "7"}, None),
        ({}, {"answer": 10**30, "score": float("nan")}, str(10**30)),
    ],
)
def test_the_reference_answer(
    rpc_backend: Backend, columns: dict[str, str], item: dict[str, Any], answer: str | None
) -> None:
    rows = [{"prompt": "1+1=", "right": "2"}]
    data = {"dataset": rpc_backend.add_dataset(rows), "columns": columns}
    job = rpc_backend.create_job(data=data)
    send(rpc_backend.claim(job), 1, "train", [group(0, "p", item=json.dumps(item))])
    assert group_of(rpc_backend, job, "train", 1, 0)["answer"] == answer
    assert rpc_backend.api.get(f"/jobs/{job}/completions/train/1/0/0").status_code == 200


def stored_as(backend: Backend, content: bytes) -> list[Any]:
    """Answers of the addresses that read the table of a step, for a worker that stored `content` as the table."""
    id = backend.create_job()
    trainer = backend.claim(id)
    trainer.start()
    blob = trainer.blob(content, "rollouts")
    row = {
        "prompt_no": 0,
        "sample_no": 0,
        "prompt_hash": "h",
        "row_index": 0,
        "reward": 1.0,
        "advantage": 0.0,
    }
    row |= {"length": 1, "finish_reason": "stop", "error": None, "text": "a"}
    trainer.send({"kind": "rollouts", "step": 1, "split": "train", "blob": blob, "rows": [row]})
    addresses = (f"/jobs/{id}/groups", f"/jobs/{id}/groups/train/1/0", f"/jobs/{id}/completions/train/1/0/0")
    answers = [backend.api.get(address) for address in addresses]
    trainer.end("cancelled")
    return answers


def table(**changes: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(group(0, "h", **changes)), out, compression="zstd")
    return out.getvalue()


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
DAMAGED_TABLES = {
    "no Parquet": lambda: b"a,b\n1,2\n",
    "cut": lambda: table()[:-20],
    "deep JSON": lambda: table(item=DEEP, prompt_messages=DEEP),
    "nested 300 times": lambda: table(prompt_messages="[" * 300 + "]" * 300),
    "half a character": lambda: table(item='{"a": "\\ud800"}', prompt_messages='[{"content": "\\ud800"}]'),
    "JSON of another form": lambda: table(item="[1]", prompt_messages='["a"]'),
    "more than fits": lambda: table(item=json.dumps("a" * (140 << 20)), prompt_messages=" " * (140 << 20)),
}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(content, id=name, marks=[pytest.mark.long] if name == "more than fits" else [])
        for name, content in DAMAGED_TABLES.items()
    ],
)
def test_a_damaged_table_is_a_refusal(rpc_backend: Backend, content: Any) -> None:
    answers = stored_as(rpc_backend, content())
    assert [answer.status_code for answer in answers] == [409] * 3, [answer.text[:300] for answer in answers]
    assert {answer.json()["error"]["code"] for answer in answers} == {"step_table_damaged"}
