"""Sampling on demand."""

from collections.abc import Iterator
from typing import Any

import httpx
from httpx_sse import EventSource

from reinforge.client.transport import ServerUnreachable, Transport, error_from
from reinforge.errors import InvalidInput, ReinforgeError, Unavailable
from reinforge.schemas.playground import SampleEvent

_READ_SECONDS = 45.0
"""The server writes something every few seconds."""


def sample(transport: Transport, body: dict[str, Any]) -> Iterator[SampleEvent]:
    """The stream's events up to `end`; its `error` is raised. Closing the iterator stops the worker."""
    own = transport.http.timeout
    timeout = httpx.Timeout(_READ_SECONDS, connect=own.connect)
    try:
        with transport.http.stream("POST", "/sample", json=body, timeout=timeout) as response:
            if response.status_code >= 400:
                response.read()
                raise error_from(response)
            for frame in EventSource(response).iter_sse():
                event = SampleEvent.model_validate_json(frame.data)
                if event.type == "error":
                    raise _error(event.error or {})
                yield event
                if event.type == "end":
                    return
    except httpx.TransportError as error:
        raise transport.unreachable(error) from error
    raise ServerUnreachable(
        "The stream broke off.", code="stream_broken", hint="Is the server still running? Then ask again."
    )


def _error(error: dict[str, Any]) -> ReinforgeError:
    kind = InvalidInput if error.get("type") == InvalidInput.type else Unavailable
    return kind(
        str(error.get("message") or "Sampling failed."),
        code=error.get("code"),
        hint=error.get("hint"),
        param=error.get("param"),
        errors=error.get("errors"),
    )
