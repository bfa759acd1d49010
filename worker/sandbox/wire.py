"""The daemon's socket: frames of ``u32 length | JSON object``, requests with an ``id``, answers in any order.

Both ends are trusted (the daemon serves only its own user and root); what came from a jail was checked before it
gets here.
"""

import json
import struct
from dataclasses import asdict
from typing import Any

from .limits import MAX_REQUEST_BYTES
from .outcome import CallOutcome, EntryPoint, RowResult, SandboxStatus, Validation

LENGTH = struct.Struct("<I")
MAX_PATH_BYTES = 107
"""A Unix socket's path has to fit into 108 bytes with its end."""


class WireError(Exception):
    """The other end does not speak this protocol."""


def encode(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    if len(body) > MAX_REQUEST_BYTES:
        raise WireError(f"a message of {len(body)} bytes is larger than {MAX_REQUEST_BYTES}")
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise WireError("a message is a JSON object")
    return message


def frame_size(head: bytes) -> int:
    size: int = LENGTH.unpack(head)[0]
    if size > MAX_REQUEST_BYTES:
        raise WireError(f"a message of {size} bytes is larger than {MAX_REQUEST_BYTES}")
    return size


def pack(answer: CallOutcome | Validation | SandboxStatus) -> dict[str, Any]:
    return asdict(answer)


def unpack_outcome(fields: dict[str, Any]) -> CallOutcome:
    rows = [RowResult(**{**row, "steps": [(x, end) for x, end in row["steps"]]}) for row in fields["rows"]]
    return CallOutcome(**{**fields, "rows": rows})


def unpack_validation(fields: dict[str, Any]) -> Validation:
    return Validation(**{**fields, "entries": [EntryPoint(**entry) for entry in fields["entries"]]})
