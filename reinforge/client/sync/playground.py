# Generated from reinforge/client/aio/playground.py by scripts/sync_client.py: change that file.
"""Streaming of completions of a base model or a checkpoint."""

from collections.abc import Iterator
from typing import Any

import httpx
from httpx_sse import EventSource

from reinforge.client.protocol import ServerUnreachable, error_from
from reinforge.client.shared import SAMPLE_READ_SECONDS, sample_error
from reinforge.client.sync.transport import Transport
from reinforge.schemas.playground import SampleEvent


def sample(transport: Transport, body: dict[str, Any]) -> Iterator[SampleEvent]:
    """Yield events up to `end`. Raises ReinforgeError for an `error` event and for a broken stream."""
    own = transport.http.timeout
    timeout = httpx.Timeout(SAMPLE_READ_SECONDS, connect=own.connect)
    try:
        with transport.http.stream("POST", "/sample", json=body, timeout=timeout) as response:
            if response.status_code >= 400:
                response.read()
                raise error_from(response)
            for frame in EventSource(response).iter_sse():
                event = SampleEvent.model_validate_json(frame.data)
                if event.type == "error":
                    raise sample_error(event.error or {})
                yield event
                if event.type == "end":
                    return
    except httpx.TransportError as error:
        raise transport.unreachable(error) from error
    raise ServerUnreachable(
        "The stream ended early.", code="stream_broken", hint="Check that the server runs, then try again."
    )
