"""GET /metrics: who may scrape it, what it counts, and that its labels stay few."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from backend.data.leader_lock import LEADER_LOCK
from backend.telemetry import process_figures
from reinforge.records import StepMetrics
from tests.backend.server import OWNER_KEY, WORKER_TOKEN, Backend

DOCS = Path(__file__).parents[3] / "docs"
_NAME = re.compile(r"\b(?:reinforge|process)_[a-z_]+")
TOKEN = "a-token-of-the-scraper"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(module_database_url, tmp_path_factory.mktemp("home"), metrics_token=TOKEN) as running:
        running.register(engines=["transformers"])
        with running.rpc_worker():
            yield running


def scrape(backend: Backend) -> Samples:
    response = backend.bare.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


@pytest.mark.parametrize("token", [None, "wrong", OWNER_KEY, WORKER_TOKEN, "é"])
def test_nobody_reads_it_without_its_token(backend: Backend, token: str | None) -> None:
    headers = {} if token is None else {b"authorization": f"Bearer {token}".encode()}
    response = backend.bare.get("/metrics", headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_metrics_token"
    assert "reinforge_" not in response.text


def test_requests_are_counted_by_template_and_code(backend: Backend) -> None:
    before = scrape(backend)
    for id in ("ftjob-a", "ftjob-b", "ftjob-c"):
        assert backend.api.get(f"/jobs/{id}").status_code == 404
    assert backend.bare.get("/jobs/ftjob-a", headers={"accept": "text/html"}).status_code == 503  # not built
    assert backend.bare.request("PROPFIND", "/anything/at/all").status_code == 404
    assert httpx.post(f"{backend.url}/api/v1/jobs", json={}).status_code == 401
    after = scrape(backend)

    def grown(**labels: str) -> float:
        name = "reinforge_http_requests_total"
        return value(after, name, **labels) - value(before, name, **labels)

    assert grown(method="GET", route="/api/v1/jobs/{id}", code="404") == 3
    assert grown(method="OTHER", route="unrouted", code="404") == 1
    assert grown(method="POST", route="unrouted", code="401") == 1
    histogram = {"method": "GET", "route": "/api/v1/jobs/{id}"}
    name = "reinforge_http_request_duration_seconds_count"
    assert value(after, name, **histogram) - value(before, name, **histogram) == 3
    routes = {dict(labels)["route"] for (name, labels) in after if name == "reinforge_http_requests_total"}
    assert not [route for route in routes if "ftjob" in route or "anything" in route]


def test_jobs_the_queue_and_workers(backend: Backend) -> None:
    first = backend.create_job()
    backend.create_job()
    queued = scrape(backend)
    assert value(queued, "reinforge_jobs", status="queued", purpose="train") == 2
    waiting = {"project_class": "waiting", "purpose": "train"}
    assert value(queued, "reinforge_queue_jobs", **waiting) == 2
    assert value(queued, "reinforge_worker_busy", worker="wrk_test") == 0

    trainer = backend.claim(first)
    trainer.send({"kind": "started", "step": 0, "steps": 3, "facts": {"device": "cuda: X", "engine": "vllm"}})
    values = {"throughput/tokens_per_second": 50.0, "time/generate": 1.5, "memory/peak": 2.0}
    trainer.step(1, **values)
    again = trainer.post(
        [{"sequence": trainer.sequence, "ts": 1.0, "kind": "step_metrics", "step": 1, "values": {}}]
    )
    assert again.status_code == 200  # sent twice, counted once
    running = scrape(backend)

    def grown(name: str, **labels: str) -> float:
        """Counters are the process's: other tests have counted there."""
        return value(running, name, **labels) - value(queued, name, **labels)

    assert value(running, "reinforge_jobs", status="running", purpose="train") == 1
    assert value(running, "reinforge_queue_jobs", **waiting) == 0
    assert value(running, "reinforge_queue_jobs", project_class="served", purpose="train") == 1
    assert value(running, "reinforge_queue_oldest_seconds", project_class="served", purpose="train") > 0
    assert value(running, "reinforge_workers_online", kind="trainer") == 1
    assert value(running, "reinforge_workers_online", kind="calls") == 1
    assert value(running, "reinforge_worker_busy", worker="wrk_test") == 1
    assert grown("reinforge_worker_steps_total", worker="wrk_test") == 1
    assert grown("reinforge_worker_tokens_total", worker="wrk_test") == 100
    assert grown("reinforge_worker_step_seconds_total", worker="wrk_test", phase="step") == 2
    assert grown("reinforge_worker_step_seconds_total", worker="wrk_test", phase="generate") == 1.5
    memory = value(running, "reinforge_worker_peak_memory_bytes", worker="wrk_test", memory="gpu")
    assert memory == 2 * 2**30
    engines = {dict(labels)["engine"] for name, labels in running if name == "reinforge_worker_info"}
    assert "vllm" in engines
    assert value(running, "reinforge_rpc_duration_seconds_count", kind="validate", outcome="answered") > 0
    assert value(running, "reinforge_rpc_wait_seconds_count", kind="validate") > 0


def test_backlogs_and_the_leader(backend: Backend) -> None:
    assert value(scrape(backend), "reinforge_background_leading") == 0
    backend.sql(
        "INSERT INTO webhook (id, project_id, url, events, secret_sealed, enabled, created_at, updated_at)"
        " SELECT 'wh_m', id, 'https://x.test', '{}', '', true, now(), now() FROM project WHERE name = 'default'"
    )
    backend.sql(
        "INSERT INTO webhook_delivery (id, webhook_id, event_id, type, body, state, tries, next_at, give_up_at,"
        " created_at) VALUES ('a', 'wh_m', 'e', 't', '', 'pending', 0, now() - interval '90 s', now(), now()),"
        " ('b', 'wh_m', 'e', 't', '', 'failed', 9, now(), now(), now())"
    )
    with psycopg.connect(backend.database_url, autocommit=True) as leader:
        leader.execute("SELECT pg_advisory_lock(%s)", (LEADER_LOCK,))
        samples = scrape(backend)
    assert value(samples, "reinforge_background_leading") == 1
    assert value(samples, "reinforge_backlog_pending", queue="webhook") == 1
    assert 90 <= value(samples, "reinforge_backlog_overdue_seconds", queue="webhook") < 120
    assert value(samples, "reinforge_backlog_failed", queue="webhook") == 1
    assert value(samples, "reinforge_backlog_pending", queue="mail") == 0


def test_it_answers_without_the_database(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr("backend.telemetry.database_figures.read", broken)
    samples = scrape(backend)
    assert value(samples, "reinforge_database_up") == 0
    assert value(samples, "process_resident_memory_bytes") > 0
    assert value(samples, "reinforge_event_loop_delay_seconds_count") > 0
    assert value(samples, "reinforge_database_pool_size") == backend.settings.pool_size


def test_workers_that_are_gone_lose_their_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_figures, "_MOST_WORKERS", 2)
    step = StepMetrics(sequence=1, ts=1.0, step=1, values={"time/step": 1.0})
    for number in range(5):
        process_figures.count_steps(f"wrk_gone_{number}", [step])
    series = process_figures.WORKER_STEPS.collect()[0].samples
    workers = {sample.labels["worker"] for sample in series if sample.name.endswith("_total")}
    assert workers == {"wrk_gone_3", "wrk_gone_4"}


def test_no_label_names_what_has_no_limit() -> None:
    """Projects, people, jobs, models and addresses would make a series each."""
    source = "".join(path.read_text() for path in Path(process_figures.__file__).parent.glob("*.py"))
    labels = {
        label
        for group in re.findall(r"labels=(\([^)]*\))|\n    (\(\"[^)]*\)),\n", source)
        for label in re.findall(r'"(\w+)"', "".join(group))
    }
    assert {"worker", "route", "kind"} <= labels
    assert labels.isdisjoint({"project", "user", "job", "key", "model", "path", "url", "address", "id"})


def series_names(backend: Backend) -> set[str]:
    """Every name that a query may have, of metrics without a sample yet, too."""
    text = backend.bare.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).text
    names = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        suffixes = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        names |= {name + suffix for suffix in suffixes if not name.endswith("_created")}
    return names


def queries() -> dict[str, str]:
    """Title → PromQL, of all alerts and panels."""
    rules = yaml.safe_load((DOCS / "monitoring/alerts.yml").read_text())["groups"]
    promql = {rule["alert"]: rule["expr"] for group in rules for rule in group["rules"]}
    dashboard = json.loads((DOCS / "monitoring/grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        promql |= {
            f"{panel['title']} {target['refId']}": target["expr"] for target in panel.get("targets", [])
        }
    return promql


def test_the_dashboard_and_the_alerts_name_metrics_and_labels_that_exist(backend: Backend) -> None:
    names = series_names(backend)
    unknown = {title: set(_NAME.findall(query)) - names for title, query in queries().items()}
    assert {title: wrong for title, wrong in unknown.items() if wrong} == {}
    assert len(queries()) > 40 and all(_NAME.search(query) or "up{" in query for query in queries().values())
    labels = {label for _, sample in scrape(backend) for label, _ in sample} | {
        "job",
        "instance",
        "le",
        "memory",
    }
    for title, query in queries().items():
        used = {name for group in re.findall(r"(?:by|on) \(([^)]*)\)", query) for name in group.split(", ")}
        used |= set(re.findall(r"[{,]\s*(\w+)\s*(?:=|!=)", query))
        assert used <= labels | {"phase", "outcome"}, title


def test_every_metric_is_in_the_guide(backend: Backend) -> None:
    page = (DOCS / "operations.md").read_text()
    base = {re.sub(r"_(bucket|count|sum)$", "", name) for name in series_names(backend)}
    ours = {name for name in base if name.startswith("reinforge_")}
    table = page.partition("| metric | type |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(reinforge_[a-z_]+)`", table)) == ours


def test_every_alert_says_what_to_do() -> None:
    for group in yaml.safe_load((DOCS / "monitoring/alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("critical", "warning", "info")
            assert rule["annotations"]["summary"] and rule["annotations"]["description"]
