"""Traces: one trace from the request that creates a job, through queue and RPCs, to the steps of its attempt."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from reinforge.records import RECORD
from reinforge.schemas.worker_api import Claimed
from reinforge.system import tracing
from reinforge.system.logs import JsonLines
from tests.backend.server import Backend, Trainer
from worker.supervisor.attempt_trace import AttemptTrace

CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.use(SimpleSpanProcessor(exporter), "test")
    yield exporter
    tracing.shut_down()


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def parent_of(span: ReadableSpan, spans: InMemorySpanExporter) -> str | None:
    if span.parent is None:
        return None
    return next(
        (other.name for other in spans.get_finished_spans() if other.context.span_id == span.parent.span_id),
        "elsewhere",
    )


def report(trainer: Trainer, trace: AttemptTrace, *records: dict[str, Any]) -> None:
    """Send records as a worker does: each to its trace and to the backend."""
    trainer.send(*records)
    first = trainer.sequence - len(records) + 1
    for sequence, record in enumerate(records, first):
        trace.receive(RECORD.validate_python({"sequence": sequence, "ts": 1000.0 + sequence, **record}))


def test_a_job_is_one_trace_from_its_request_to_the_phases_of_its_steps(
    rpc_backend: Backend, spans: InMemorySpanExporter
) -> None:
    backend = rpc_backend
    response = backend.api.post("/jobs", json=backend.spec(), headers={"traceparent": CLIENT})
    assert response.status_code == 201
    trainer = backend.claim(response.json()["id"])
    trace = AttemptTrace(Claimed.model_validate(trainer.claimed), "wrk_test")
    report(trainer, trace, {"kind": "phase", "phase": "loading", "step": 0})
    report(trainer, trace, {"kind": "started", "step": 0, "steps": 3, "facts": {}})
    for step in (1, 2):
        for phase in ("generating", "generating", "scoring", "updating"):
            report(trainer, trace, {"kind": "phase", "phase": phase, "step": step})
        values = {"reward/mean": 0.5, "time/step": 2.0}
        report(trainer, trace, {"kind": "step_metrics", "step": step, "values": values})
    report(trainer, trace, {"kind": "ended", "outcome": "cancelled"})
    trace.end("delivered")

    ours = [span for span in spans.get_finished_spans() if f"{span.context.trace_id:032x}" in CLIENT]
    tree = [(span.name, parent_of(span, spans)) for span in ours]
    assert tree.count(("POST /api/v1/jobs", "elsewhere")) == 1  # the client's own span
    assert ("rpc validate", "POST /api/v1/jobs") in tree
    assert tree.count(("job queued", "POST /api/v1/jobs")) == 1
    assert tree.count(("job attempt", "POST /api/v1/jobs")) == 1
    assert tree.count(("loading", "job attempt")) == tree.count(("preparing", "job attempt")) == 1
    assert tree.count(("step", "job attempt")) == 2
    for phase in ("generating", "scoring", "updating"):
        assert tree.count((phase, "step")) == 2
    first = named(spans, "step")[0]
    assert (first.end_time - first.start_time) / 1e9 == 4
    assert first.attributes["reinforge.step"] == 1 and first.attributes["reinforge.reward_mean"] == 0.5
    [request] = named(spans, "POST /api/v1/jobs")
    assert request.attributes["http.response.status_code"] == 201
    assert request.attributes["reinforge.request_id"] == response.headers["x-request-id"]
    [attempt] = named(spans, "job attempt")
    assert attempt.attributes["reinforge.outcome"] == "cancelled"
    assert attempt.status.status_code is StatusCode.UNSET


def test_the_worker_gets_the_trace_of_the_request_that_waits(
    rpc_backend: Backend, spans: InMemorySpanExporter
) -> None:
    rpc_backend.api.post("/jobs", json=rpc_backend.spec(), headers={"traceparent": CLIENT})
    [(context,)] = rpc_backend.sql("SELECT trace_context FROM job ORDER BY created_at DESC LIMIT 1")
    assert context.split("-")[1] == CLIENT.split("-")[1]
    with tracing.span("worker validate", context, kind="server"):
        logged = logging.makeLogRecord({"msg": "x"})
        line = json.loads(JsonLines("calls").format(logged))
    assert line["trace_id"] == CLIENT.split("-")[1]
    [call] = named(spans, "worker validate")
    assert parent_of(call, spans) == "POST /api/v1/jobs"


def test_failures_are_marked_without_their_text(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError), tracing.span("outer"):
        raise ValueError("a secret prompt")
    claimed = {"job": "ftjob-1", "attempt": 1, "job_token": "t", "spec": {}, "model_source": "m"}
    claimed |= {"model_sha256": None, "dataset": {"sha256": "ab" * 32, "bytes": 1}, "dataset_format": "jsonl"}
    trace = AttemptTrace(Claimed.model_validate(claimed | {"rewards": []}), "wrk")
    trace.receive(
        RECORD.validate_python({"kind": "phase", "phase": "loading", "step": 0, "sequence": 1, "ts": 1.0})
    )
    trace.end("lease_lost")  # the worker ended it
    by_name = {span.name: span for span in spans.get_finished_spans()}
    for name, kind in (("outer", "ValueError"), ("loading", "lease_lost"), ("job attempt", "lease_lost")):
        assert by_name[name].status.status_code is StatusCode.ERROR
        assert by_name[name].attributes["error.type"] == kind
    assert "secret" not in "".join(span.to_json() for span in by_name.values())


def test_pages_probes_and_workers_have_no_spans(backend: Backend, spans: InMemorySpanExporter) -> None:
    backend.bare.get("/healthz")
    backend.register("wrk_quiet")
    backend.bare.get("/")
    assert spans.get_finished_spans() == ()
    backend.api.get("/jobs/ftjob-none", headers={"traceparent": "nonsense"})
    [request] = spans.get_finished_spans()
    assert request.parent is None and request.name == "GET /api/v1/jobs/{id}"


def test_nothing_is_traced_by_default(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    assert rpc_backend.sql("SELECT trace_context FROM job WHERE id = %s", job) == [(None,)]
    with tracing.span("x") as span:
        assert (span.traceparent, tracing.current()) == (None, None)


def test_without_the_packages_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("importlib.import_module", missing)
    tracing.configure("api")
    assert "Install the extra `otel`" in caplog.text
    assert tracing.current() is None
