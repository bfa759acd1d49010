"""OpenTelemetry traces. Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the SDK is imported only then.

Spans carry ids, numbers and names of phases: no prompts, completions, rewards or error messages.
"""

import importlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from reinforge import __version__, settings
from reinforge.system.logs import log_context

log = logging.getLogger(__name__)

Attribute = str | int | float | bool
Attributes = Mapping[str, Attribute | None]
"""Attributes of a span; those that are None are not set."""
SpanKind = Literal["internal", "server", "client"]
_NANOSECONDS = 1_000_000_000
_provider: Any = None


def configure(process: str) -> None:
    """Export spans of this process to the endpoint, if there is one."""
    if not settings.traces_exported():
        return
    try:
        exporter = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
    except ImportError as error:
        log.warning("no traces: %s. Install the extra `otel`, or unset OTEL_EXPORTER_OTLP_ENDPOINT.", error)
        return
    use(export.BatchSpanProcessor(exporter.OTLPSpanExporter()), process)


def use(processor: Any, process: str) -> None:
    global _provider
    sdk = importlib.import_module("opentelemetry.sdk.trace")
    resources = importlib.import_module("opentelemetry.sdk.resources")
    resource = {"service.version": __version__}
    if not settings.trace_service_is_set():
        resource["service.name"] = f"reinforge-{process}"
    _provider = sdk.TracerProvider(resource=resources.Resource.create(resource))
    _provider.add_span_processor(processor)


def shut_down() -> None:
    global _provider
    if _provider is not None:
        _provider.shutdown()
        _provider = None


class TraceSpan:
    """A span, whose methods do nothing while traces are off."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    @property
    def traceparent(self) -> str | None:
        """W3C trace context for the header `traceparent`; None while traces are off."""
        if self._span is None:
            return None
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"

    @property
    def trace_id(self) -> str | None:
        return None if self._span is None else f"{self._span.get_span_context().trace_id:032x}"

    def rename(self, name: str) -> None:
        if self._span is not None:
            self._span.update_name(name)

    def set(self, attributes: Attributes) -> None:
        if self._span is not None:
            self._span.set_attributes(_attributes(attributes))

    def fail(self, kind: str) -> None:
        """Mark the span as failed. kind: code or class of the error."""
        if self._span is not None:
            status = importlib.import_module("opentelemetry.trace")
            self._span.set_status(status.Status(status.StatusCode.ERROR))
            self._span.set_attribute("error.type", kind)

    def end(self, at: float | None = None) -> None:
        """End the span. at: Unix seconds; default: now."""
        if self._span is not None:
            self._span.end(None if at is None else int(at * _NANOSECONDS))


def start(
    name: str,
    parent: str | None = None,
    *,
    at: float | None = None,
    kind: SpanKind = "internal",
    attributes: Attributes | None = None,
) -> TraceSpan:
    """Start a span, for the caller to end. parent: trace context, ignored if invalid. at: Unix seconds."""
    if _provider is None:
        return TraceSpan()
    trace = importlib.import_module("opentelemetry.trace")
    span = _provider.get_tracer("reinforge", __version__).start_span(
        name,
        context=_context(parent),
        kind=trace.SpanKind[kind.upper()],
        attributes=_attributes(attributes or {}),
        start_time=None if at is None else int(at * _NANOSECONDS),
    )
    return TraceSpan(span)


@contextmanager
def span(
    name: str,
    parent: str | None = None,
    *,
    kind: SpanKind = "internal",
    attributes: Attributes | None = None,
) -> Iterator[TraceSpan]:
    """A span around a block; spans inside of it are its children. Exceptions mark it as failed."""
    if _provider is None:
        yield TraceSpan()
        return
    trace = importlib.import_module("opentelemetry.trace")
    active = start(name, parent or current(), kind=kind, attributes=attributes)
    with trace.use_span(active._span, record_exception=False, set_status_on_exception=False):
        try:
            with log_context(trace_id=active.trace_id):
                yield active
        except BaseException as error:
            active.fail(getattr(error, "code", None) or type(error).__name__)
            raise
        finally:
            active.end()


def current() -> str | None:
    """Trace context of the innermost active span, or None."""
    if _provider is None:
        return None
    around = importlib.import_module("opentelemetry.trace").get_current_span()
    return TraceSpan(around).traceparent if around.get_span_context().is_valid else None


def _context(parent: str | None) -> Any:
    propagation = importlib.import_module("opentelemetry.trace.propagation.tracecontext")
    context = importlib.import_module("opentelemetry.context").Context()
    headers: Mapping[str, str] = {} if parent is None else {"traceparent": parent}
    return propagation.TraceContextTextMapPropagator().extract(headers, context)


def _attributes(attributes: Attributes) -> dict[str, Attribute]:
    return {name: value for name, value in attributes.items() if value is not None}
