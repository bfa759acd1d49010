"""Definitions that the page draws a job's charts from."""

from reinforge.metrics import CHARTS, METRICS
from reinforge.schemas.meta import Meta
from tests.backend.server import Backend


def test_the_server_defines_metrics_families_and_charts(backend: Backend) -> None:
    answer = backend.api.get("/meta")
    assert answer.status_code == 200
    body = answer.json()
    meta = Meta.model_validate(body)
    assert [metric.key for metric in meta.metrics] == list(METRICS)
    assert tuple(meta.charts) == CHARTS
    reward = body["charts"][0]
    assert (reward["id"], reward["title"], reward["section"]) == ("reward", "Reward", "Headline")
    assert reward["scale"] == {"format": "reward", "start": 0.0, "end": 1.0}
    assert backend.bare.get("/api/v1/meta").status_code == 401
