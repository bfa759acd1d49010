"""Datasets of a job's best completions."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinforge.cli.main import app
from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.server import OWNER_KEY, Backend, refused


def completions(
    prompt_no: int, prompt: str, *texts: tuple[str, float], **changes: Any
) -> list[dict[str, Any]]:
    common = group(prompt_no, prompt)[0]
    return [
        common | {"sample_no": n, "text": text, "reward": reward, "length": len(text)} | changes
        for n, (text, reward) in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    send(trainer, 1, "train", [
        completions(0, "a", ("right", 1.0), ("right", 1.0), ("almost", 0.9), ("wrong", 0.0)),
        completions(1, "b", ("cut off", 1.0), finish_reason="length"),
    ])  # fmt: skip
    send(trainer, 2, "train", [
        completions(0, "a", ("later", 1.0), ("right", 1.0)),
        completions(1, "b", ("b's", 0.95)),
        completions(2, "c", ("failed", 1.0), error="error"),
    ])  # fmt: skip
    return id


def rows(backend: Backend, job: str, **selection: Any) -> list[dict[str, Any]]:
    response = backend.api.post(f"/jobs/{job}/traces", json={"min_reward": 0.9} | selection)
    assert response.status_code == 201, response.text
    content = backend.api.get(f"/datasets/{response.json()['id']}/content").text
    dataset_rows = [json.loads(line) for line in content.splitlines()]
    assert response.json()["rows"] == len(dataset_rows)
    return dataset_rows


def test_the_best_of_every_prompt_without_duplicates(rpc_backend: Backend, job: str) -> None:
    chosen = rows(rpc_backend, job)
    assert [(row["completion"], row["completion_reward"], row["completion_step"]) for row in chosen] == [
        ("almost", 0.9, 1), ("later", 1.0, 2), ("right", 1.0, 2), ("b's", 0.95, 2),
    ]  # fmt: skip
    assert chosen[0]["answer"] == "42"
    assert chosen[0]["messages"] == chosen[0]["completion_prompt"] == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("selection", "texts"),
    [
        ({"per_prompt": 1}, ["later", "b's"]),
        ({"last_step": 1}, ["right", "almost"]),
        ({"first_step": 2, "min_reward": 1.0}, ["later", "right"]),
        ({"truncated": True, "last_step": 1, "per_prompt": 1}, ["right", "cut off"]),
        ({"limit": 1}, ["later"]),
    ],
)
def test_filters(rpc_backend: Backend, job: str, selection: dict[str, Any], texts: list[str]) -> None:
    assert [row["completion"] for row in rows(rpc_backend, job, **selection)] == texts


def test_the_command_also_writes_chats(
    rpc_backend: Backend, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REINFORGE_URL", rpc_backend.url)
    monkeypatch.setenv("REINFORGE_API_KEY", OWNER_KEY)
    chats = tmp_path / "chats.jsonl"
    app(
        ["job", "traces", job, "--min-reward", "1", "--to", "best", "--chat", str(chats)],
        standalone_mode=False,
    )
    assert json.loads(chats.read_text().splitlines()[0]) == {
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "later"}]
    }
    assert "best" in {dataset["name"] for dataset in rpc_backend.api.get("/datasets").json()["data"]}


def test_a_reward_that_nothing_has_is_refused_with_the_highest(rpc_backend: Backend, job: str) -> None:
    response = rpc_backend.api.post(f"/jobs/{job}/traces", json={"min_reward": 2})
    assert "highest reward of the job is 1" in refused(response, "min_reward", "no_traces")["hint"]
    assert rpc_backend.api.post("/jobs/ftjob-none/traces", json={"min_reward": 0}).status_code == 404
