"""Jobs through the SDK on the running platform: lost workers, failing rewards, refused input, cancelling."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, NotFound, ReinforgeError, StateConflict
from reinforge.platform.backup import backup, restore
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import Platform
from tests.e2e.conftest import DEMO_JOB, KEY, pids_of
from tests.support.processes import eventually

ARITHMETIC = DEMO_JOB.parent


@pytest.fixture
def spec(client: Reinforge) -> Callable[..., dict[str, Any]]:
    data = client.datasets.push(ARITHMETIC / "additions.jsonl")

    def make(reward: str | None = None, steps: int = 3, **parts: Any) -> dict[str, Any]:
        source = reward or (ARITHMETIC / "reward.py").read_text()
        small = {
            "model": "starter-arith",
            "data": {"dataset": data.id, "held_out_rows": 8},
            "rewards": [{"type": "python", "name": "correct", "source": source}],
            "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 56},
            "optimizer": {"learning_rate": 4e-4},
            "evaluation": {"every_steps": 0, "rows": 8, "samples_per_row": 1},
            "limits": {"steps": steps, "checkpoint_every": 2},
        }
        return small | parts

    return make


@pytest.mark.long
def test_a_killed_worker_costs_one_attempt(client: Reinforge, platform: Platform, spec: Any) -> None:
    """SIGKILL of the Celery worker in the middle: the next attempt goes on from the resume state."""
    job = client.jobs.create(spec(steps=24))
    eventually(lambda: client.jobs.get(job.id).progress.step >= 6, within=120, what="step 6")
    workers = pids_of(platform, "-m", "worker")
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    done = client.jobs.wait(job.id, timeout=240)
    assert (done.status, done.attempt) == ("succeeded", 2), done.error
    reward = next(s for s in client.jobs.metrics(job.id).series if s.key == "reward/mean")
    assert reward.steps == list(range(1, 25))
    rewinds = [e for e in client.jobs.stream(job.id) if e.type == "rewind"]
    assert len(rewinds) == 1 and rewinds[0].data["to_step"] >= 4


@pytest.mark.long
def test_a_backup_taken_under_way_finishes_the_job_elsewhere_with_the_same_weights(
    client: Reinforge, platform: Platform, spec: Any, tmp_path: Path
) -> None:
    job = client.jobs.create(spec(steps=10))
    eventually(lambda: client.jobs.get(job.id).progress.step >= 3, within=120, what="step 3")
    backup(platform.home, tmp_path / "copy")
    assert client.jobs.wait(job.id, timeout=240).status == "succeeded"
    made = restore(tmp_path / "copy", tmp_path / "home")
    assert made.count > 3
    try:
        with Platform(tmp_path / "home", port=0) as other, Reinforge(other.url, KEY) as there:
            assert there.jobs.get(job.id).progress.step < 10
            again = there.jobs.wait(job.id, timeout=240)
            assert again.status == "succeeded", again.error
            weights = [
                _weights(item, job.id, tmp_path / name) for name, item in (("a", client), ("b", there))
            ]
    finally:
        EmbeddedPostgres(tmp_path / "home").destroy()
    assert weights[0] == weights[1]


def _weights(client: Reinforge, job: str, folder: Path) -> bytes:
    [adapter] = [adapter for adapter in client.adapters.list() if adapter.job == job]
    client.adapters.extract(adapter.id, folder)
    [file] = folder.rglob("adapter_model.safetensors")
    return file.read_bytes()


@pytest.mark.long
def test_rows_that_raise_leave_their_group_and_the_job_goes_on(client: Reinforge, spec: Any) -> None:
    reward = (
        "def grade(sample, item):\n"
        "    if int(item['answer']) % 7 == 0:\n"
        "        raise ValueError('seven divides it')\n"
        "    return float(len(sample['output_text']))\n"
    )
    limits = {"steps": 3, "checkpoint_every": 2, "error_share": 0.9}
    job = client.jobs.wait(client.jobs.create(spec(reward, limits=limits, seed=3)).id, timeout=180)
    assert job.status == "succeeded", job.error
    rows = [row for step in (1, 2, 3) for row in client.jobs.completions(job.id, step=step, limit=100).data]
    failed = [row for row in rows if row.error]
    assert failed and len(failed) < len(rows)
    assert all(row.error == "exception" and row.reward is None and row.advantage is None for row in failed)
    one = client.jobs.completion(job.id, "train", failed[0].step, failed[0].prompt_no, failed[0].sample_no)
    assert "seven divides it" in (one.rewards[0].message or "")


def test_a_reward_that_always_raises_pauses_the_job_with_the_traceback(client: Reinforge, spec: Any) -> None:
    reward = "def grade(sample, item):\n    return {}['no such column']\n"
    job = client.jobs.wait(client.jobs.create(spec(reward)).id, timeout=120)
    assert (job.status, job.reason) == ("paused", "reward_errors")
    assert job.error is not None
    message = f"{job.error.message}\n{job.error.traceback}"
    assert "KeyError" in message and "line 2" in message


def test_cancel_ends_it_soon_and_twice_is_a_conflict(client: Reinforge, spec: Any) -> None:
    job = client.jobs.create(spec(steps=1000))
    eventually(lambda: client.jobs.get(job.id).progress.step >= 1, within=120, what="step 1")
    client.jobs.cancel(job.id)
    assert client.jobs.wait(job.id, timeout=90).status == "cancelled"
    with pytest.raises(StateConflict):
        client.jobs.cancel(job.id)


@pytest.mark.parametrize(
    ("change", "param", "words"),
    [
        ({"model": "no-such-model"}, "model", "no-such-model"),
        ({"rollout": {"completions_per_prompt": 1}}, "rollout.completions_per_prompt", "2"),
        ({"rewards": [{"type": "python", "source": "def grade(sample, item:\n"}]}, "rewards[0]", "line 1"),
        ({"rewards": [{"type": "python", "source": "x = 1\n"}]}, "rewards[0]", "defines no reward"),
        ({"rewards": [{"type": "python", "reward": "rew_none"}]}, "rewards[0].reward", "rew_none"),
        ({"data": {"dataset": "file-none"}}, "data.dataset", "file-none"),
        ({"rollout": {"max_completion_tokens": 100_000}}, "rollout.max_completion_tokens", "context"),
    ],
    ids=["model", "group-of-one", "syntax", "nothing-callable", "reward", "dataset", "too-long"],
)
def test_bad_input_is_refused_at_creation(
    client: Reinforge, spec: Any, change: dict[str, Any], param: str, words: str
) -> None:
    before = [job.id for job in client.jobs.list()]
    with pytest.raises((InvalidInput, NotFound)) as caught:
        client.jobs.create(spec() | change)
    error = caught.value
    params = [error.param, *(e.get("param") for e in error.errors)]
    assert any(p and p.startswith(param) for p in params), params
    assert words in str([error.message, error.hint, error.errors])
    assert [job.id for job in client.jobs.list()] == before


def test_prompts_longer_than_the_context_are_refused(client: Reinforge, spec: Any, tmp_path: Path) -> None:
    long = tmp_path / "long.jsonl"
    long.write_text('{"prompt": "1+1=", "answer": "2"}\n{"prompt": "' + "9" * 5000 + '", "answer": "3"}\n')
    data = client.datasets.push(long)
    with pytest.raises(InvalidInput) as caught:
        client.jobs.create(spec() | {"data": {"dataset": data.id}})
    assert caught.value.param and caught.value.hint
    assert "tokens" in caught.value.message


def test_an_empty_dataset_is_refused_and_nothing_is_stored(client: Reinforge, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    before = [d.id for d in client.datasets.list()]
    with pytest.raises(ReinforgeError) as caught:
        client.datasets.push(empty)
    assert caught.value.code == "empty_file"
    assert [d.id for d in client.datasets.list()] == before


def test_one_row_trains_without_a_held_out_split(client: Reinforge, spec: Any, tmp_path: Path) -> None:
    single = tmp_path / "single.jsonl"
    single.write_bytes(b'\xef\xbb\xbf{"prompt": "12+34=", "answer": "46"}\r\n')
    data = client.datasets.push(single)
    assert data.rows == 1
    assert any("held" in warning for warning in data.warnings)
    one = spec(data={"dataset": data.id})
    one["rollout"] |= {"prompts_per_step": 1}
    job = client.jobs.wait(client.jobs.create(one).id, timeout=120)
    assert job.status == "succeeded", job.error
    assert job.held_out_reward is None
