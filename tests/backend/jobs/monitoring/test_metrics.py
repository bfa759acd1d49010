"""Metrics in buckets equal a plain recomputation, and an unchanged response is not sent again."""

import gzip
import json
import random
from typing import Any

import httpx
import pytest

from tests.backend.server import OWNER_KEY, Backend

Points = dict[int, tuple[float | None, float]]
"""Step → value and time."""


def stored_job(backend: Backend, series: dict[tuple[str, str], Points]) -> str:
    """A job with these points by (kind, key), put directly into the database."""
    job = backend.create_job()
    for (kind, key), points in series.items():
        [(id,)] = backend.sql(
            "INSERT INTO metric_series (job_id, kind, key) VALUES (%s, %s, %s) RETURNING id", job, kind, key
        )
        backend.sql(
            "INSERT INTO metric_point (series_id, step, value, ts)"
            " SELECT %s, * FROM unnest(%s::bigint[], %s::float8[], %s::float8[])",
            id,
            list(points),
            [value for value, _ in points.values()],
            [ts for _, ts in points.values()],
        )
    return job


def random_points(source: random.Random, steps: range, share: float) -> Points:
    """Values of all sizes, some not defined; later steps may have earlier times."""
    chosen = [step for step in steps if source.random() < share]
    return {
        step: (
            None if source.random() < 0.3 else source.uniform(-1, 1) * 10.0 ** source.randint(-12, 12),
            source.uniform(1.7e9, 1.8e9),
        )
        for step in chosen
    }


def in_buckets(points: Points, first: int, last: int, buckets: int) -> dict[str, Any] | None:
    """The plain recomputation: columns of one series, None when it has no point from `first` to `last`."""
    width = next(width for width in range(1, last - first + 2) if width * buckets >= last - first + 1)
    runs: dict[int, list[int]] = {}
    for step in sorted(points):
        if first <= step <= last:
            runs.setdefault((step - first) // width, []).append(step)
    if not runs:
        return None
    lasts, minima, maxima = [], [], []
    for run in runs.values():
        defined = [step for step in run if points[step][0] is not None]
        lasts.append((defined or run)[-1])
        values = [value for step in run if (value := points[step][0]) is not None]
        minima.append(min(values, default=None))
        maxima.append(max(values, default=None))
    columns: dict[str, Any] = {
        "steps": lasts,
        "values": [points[step][0] for step in lasts],
        "ts": [points[step][1] for step in lasts],
    }
    if any(len(run) > 1 for run in runs.values()):
        columns |= {"minima": minima, "maxima": maxima}
    return columns


def metrics(backend: Backend, job: str, **query: Any) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{job}/metrics", params=query)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def columns(answer: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The series by (kind, key), in the order of the answer."""
    return {(series.pop("kind"), series.pop("key")): series for series in answer["series"]}


@pytest.mark.parametrize("seed", range(4))
def test_buckets_equal_a_plain_recomputation(rpc_backend: Backend, seed: int) -> None:
    source = random.Random(seed)
    top = source.choice([1, 40, 333, 1000])
    series = {
        ("train", "reward/mean"): random_points(source, range(1, top + 1), 1.0),
        ("train", "loss"): random_points(source, range(1, top + 1), 0.7),
        ("train", "never"): dict.fromkeys(range(1, top + 1), (None, 5.0)),
        ("held_out", "reward/mean"): random_points(source, range(0, top + 1, 7), 1.0),
    }
    job = stored_job(rpc_backend, series)
    first = min(min(points, default=top) for points in series.values())
    last = max(max(points, default=0) for points in series.values())
    for _ in range(12):
        buckets = source.choice([2, 3, 10, 99, 1000, 10_000])
        low, high = sorted(source.randint(0, top + 20) for _ in range(2))
        query = source.choice(
            [{}, {"from_step": low}, {"to_step": high}, {"from_step": low, "to_step": high}]
        )
        start, end = max(query.get("from_step", first), first), min(query.get("to_step", last), last)
        expected = {
            name: bucketed
            for name, points in sorted(series.items())
            if start <= end and (bucketed := in_buckets(points, start, end, buckets))
        }
        answer = metrics(rpc_backend, job, buckets=buckets, **query)
        assert columns(answer) == expected
        assert answer["buckets"] == buckets
        assert all(len(series["steps"]) <= buckets for series in expected.values())


def test_series_of_every_step_share_their_positions_whatever_else_is_requested(rpc_backend: Backend) -> None:
    full: Points = {step: (step / 7, 1.0 + step) for step in range(1, 101)}
    late = {step: full[step] for step in range(50, 101)}
    job = stored_job(
        rpc_backend, {("train", "a"): full, ("train", "b"): late, ("held_out", "a"): {0: (1.0, 1.0)}}
    )
    together = columns(metrics(rpc_backend, job, buckets=10))
    assert set(together["train", "b"]["steps"]) < set(together["train", "a"]["steps"])
    assert together["held_out", "a"] == {"steps": [0], "values": [1.0], "ts": [1.0]}
    alone = columns(metrics(rpc_backend, job, buckets=10, key=["b", "no such key"]))
    assert alone == {("train", "b"): together["train", "b"]}


def test_every_point_by_key_and_range(rpc_backend: Backend) -> None:
    points: Points = {step: (None if step == 3 else step * 0.1, 1000.25 + step) for step in range(1, 6)}
    job = stored_job(rpc_backend, {("train", "a"): points, ("train", 'b"%\\'): points})
    answer = metrics(rpc_backend, job)
    assert "buckets" not in answer
    assert columns(answer)["train", "a"] == {
        "steps": [1, 2, 3, 4, 5],
        "values": [0.1, 0.2, None, 0.4, 0.5],
        "ts": [1001.25, 1002.25, 1003.25, 1004.25, 1005.25],
    }
    part = columns(metrics(rpc_backend, job, key='b"%\\', from_step=3, to_step=4))
    assert part == {("train", 'b"%\\'): {"steps": [3, 4], "values": [None, 0.4], "ts": [1003.25, 1004.25]}}
    for beyond in ({"from_step": 6}, {"from_step": 4, "to_step": 3}, {"buckets": 5, "from_step": 9}):
        assert metrics(rpc_backend, job, **beyond)["series"] == []
    assert metrics(rpc_backend, job, buckets=2, to_step=2**53)["series"]


def test_a_job_without_points_has_no_series(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    for query in ({}, {"buckets": 100}):
        answer = metrics(rpc_backend, job, **query)
        assert (answer["series"], answer["seq"]) == ([], answer["seq"])
    assert rpc_backend.api.get(f"/jobs/{job}/metrics", params={"buckets": 1}).status_code == 422


def test_an_answer_holds_until_the_job_goes_on(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start()
    for step in (1, 2):
        trainer.step(step)
    query: dict[str, Any] = {"buckets": 2}
    url = f"/jobs/{job}/metrics"
    first = rpc_backend.api.get(url, params=query)
    tag = first.headers["etag"]
    assert tag.startswith('"')

    def again(tag: str, **query: Any) -> httpx.Response:
        return rpc_backend.api.get(url, params=query, headers={"if-none-match": tag})

    unchanged = again(tag, **query)
    assert (unchanged.status_code, unchanged.content, unchanged.headers["etag"]) == (304, b"", tag)
    assert again(f'"other", W/{tag}', **query).status_code == 304
    for other in ({}, {"buckets": 3}, {"buckets": 2, "from_step": 2}, {"buckets": 2, "key": "reward/mean"}):
        assert again(tag, **other).status_code == 200, "another question"
    trainer.step(3)
    fresh = again(tag, **query)
    assert (fresh.status_code, fresh.json()["seq"]) == (200, first.json()["seq"] + 1)
    assert fresh.headers["etag"] != tag


def test_large_answers_travel_packed_to_those_who_take_it(rpc_backend: Backend) -> None:
    source = random.Random(1)
    job = stored_job(
        rpc_backend, {("train", f"key/{n}"): random_points(source, range(900), 1) for n in range(9)}
    )
    with httpx.Client(base_url=rpc_backend.url, headers={"authorization": f"Bearer {OWNER_KEY}"}) as client:
        url = f"/api/v1/jobs/{job}/metrics"
        for query in ({}, {"buckets": 100}):
            plain = client.get(url, params=query, headers={"accept-encoding": "identity"})
            assert "content-encoding" not in plain.headers
            with client.stream("GET", url, params=query, headers={"accept-encoding": "br, gzip"}) as packed:
                raw = b"".join(packed.iter_raw())
            assert packed.headers["content-encoding"] == "gzip"
            assert int(packed.headers["content-length"]) == len(raw) < len(plain.content)
            assert json.loads(gzip.decompress(raw)) == plain.json()
            assert packed.headers["etag"] != plain.headers["etag"], "other bytes, another tag"
            for response in (plain, packed):
                tag = response.headers["etag"]
                unchanged = client.get(url, params=query, headers={"if-none-match": tag})
                assert (unchanged.status_code, unchanged.headers["etag"]) == (304, tag)
