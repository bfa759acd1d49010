"""A job's records, read with the SDK from a real backend."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.client import Reinforge
from reinforge.diagnosis.finding import Remedy
from tests.backend.jobs.lifecycle.test_checkpoint_download import save
from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.server import OWNER_KEY, Backend


@pytest.fixture(scope="module")
def client(rpc_backend: Backend) -> Iterator[Reinforge]:
    with Reinforge(rpc_backend.url, OWNER_KEY) as client:
        yield client


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    id = rpc_backend.create_job(name="read me")
    trainer = rpc_backend.claim(id)
    trainer.start()
    for step in range(1, 4):
        send(trainer, step, "train", [group(0, "first"), group(1, "second")])
        trainer.step(step, extra=float(step))
    save(trainer, 3, b"weights")
    return id


def test_metrics_in_buckets(client: Reinforge, job: str) -> None:
    metrics = client.jobs.metrics(job, keys=["extra"], buckets=2, from_step=1)
    [series] = metrics.series
    assert (series.key, series.steps, series.values) == ("extra", [2, 3], [2.0, 3.0])
    assert (series.minima, series.maxima) == ([1.0, 3.0], [2.0, 3.0])
    assert {len(series.steps) for series in client.jobs.metrics(job).series} == {3}


def test_search_page_by_page(client: Reinforge, job: str) -> None:
    first = client.jobs.search_completions(job, "second -<i>", sort="step", reward_min=0.5, limit=2)
    assert ([row.step for row in first.data], first.total, first.has_more) == ([1, 2], 3, True)
    rest = client.jobs.search_completions(
        job, "second -<i>", sort="step", reward_min=0.5, limit=2, after=first.next_cursor
    )
    assert ([row.step for row in rest.data], rest.next_cursor) == ([3], None)


def test_a_group(client: Reinforge, job: str) -> None:
    group = client.jobs.group(job, "train", 2, 1)
    assert (group.prompt_hash, group.steps, group.answer) == ("second", [1, 2, 3], "42")
    assert [completion.reward for completion in group.completions] == [1.0, 0.0]


def test_a_checkpoint_on_disk(client: Reinforge, job: str, tmp_path: Path) -> None:
    progress: list[int] = []
    path = client.jobs.download_checkpoint(
        job, 3, tmp_path / "new" / "c.tar.gz", progress=lambda done, _: progress.append(done)
    )
    assert progress[-1] == path.stat().st_size
    with tarfile.open(path) as tar:
        assert tar.extractfile("adapter_model.safetensors").read() == b"weights"  # type: ignore[union-attr]
    assert [entry.name for entry in path.parent.iterdir()] == ["c.tar.gz"]


def test_jobs_by_name(client: Reinforge, job: str) -> None:
    assert [item.id for item in client.jobs.list(q="READ")] == [job]
    assert not list(client.jobs.list(q="READ", dataset="file-none"))


def test_a_remedy_of_each_kind_is_applied(client: Reinforge, rpc_backend: Backend) -> None:
    id = rpc_backend.create_job(name="ill")
    trainer = rpc_backend.claim(id)
    trainer.start()
    trainer.step(1)
    save(trainer, 1, b"weights")
    rate = {"optimizer.learning_rate": 0.0005}

    live = Remedy(kind="apply_live", label="Lower the rate, now", set=rate)
    assert client.jobs.apply_remedy(id, live).id == id
    assert [change.value for change in client.jobs.changes(id)] == [0.0005]
    forked = client.jobs.apply_remedy(id, Remedy(kind="fork", label="Fork", step=1, set=rate))
    assert forked.forked_from is not None and (forked.forked_from.job, forked.forked_from.step) == (id, 1)
    again = client.jobs.apply_remedy(id, Remedy(kind="fork", label="From the base", step=0, set=rate))
    assert (again.forked_from, again.spec["optimizer"]["learning_rate"]) == (None, 0.0005)
    taken = client.jobs.apply_remedy(id, Remedy(kind="stop_and_take", label="Take it", step=1))
    assert (taken.id, taken.status in ("cancelling", "cancelled")) == (id, True)
    assert client.jobs.apply_remedy(id, Remedy(kind="stop_and_take", label="Take it", step=1)).id == id
