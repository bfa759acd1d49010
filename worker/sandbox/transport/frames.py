"""Frames of a connection to the daemon: ``u32 head bytes | u32 body bytes | head | body``.

The head is a JSON object. The body holds rows in ``marshal`` version 2 for speed; this is safe only if both
ends trust each other.
"""

import json
import marshal
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from worker.sandbox.limits import MAX_REQUEST_BYTES
from worker.sandbox.outcome import (
    CallOutcome,
    EntryPoint,
    ProgramResult,
    ProgramRun,
    ProgramsOutcome,
    RewardRow,
    RowResult,
    SandboxStatus,
    Validation,
)  # fmt: skip

Packed = tuple[dict[str, Any], bytes]

SIZES = struct.Struct("<II")
BUFFER_BYTES = 1 << 20
"""The event loop's buffer: 64 KiB would pause several times per frame."""
MAX_PATH_BYTES = 107

_MARSHAL = 2
_SELDOM = ("parts", "steps", "turns", "criteria", "candidates", "reason", "prints", "message")


class WireError(ConnectionError):
    pass


def encode(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    if len(text) + len(body) > MAX_REQUEST_BYTES:
        raise WireError(f"a message of {len(text) + len(body)} bytes is larger than {MAX_REQUEST_BYTES}")
    return b"".join((SIZES.pack(len(text), len(body)), text, body))


def decode(head: bytes) -> dict[str, Any]:
    try:
        message = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a message is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise WireError("a message must be a JSON object")
    return message


def sizes(raw: bytes) -> tuple[int, int]:
    head, body = SIZES.unpack(raw)
    if head + body > MAX_REQUEST_BYTES:
        raise WireError(f"a message of {head + body} bytes is larger than {MAX_REQUEST_BYTES}")
    return head, body


def pack_rows(rows: Sequence[RewardRow]) -> bytes:
    """Pack rows. Raises ValueError for values that are not plain data."""
    return marshal.dumps([_row_fields(row) for row in rows], _MARSHAL)


def pack_runs(runs: Sequence[ProgramRun]) -> bytes:
    return json.dumps([asdict(run) for run in runs]).encode()


def _row_fields(row: RewardRow) -> dict[str, Any]:
    fields: dict[str, Any] = {"prompt": row.prompt, "completion": row.completion, "item": row.item}
    if row.judges is not None:
        fields["judges"] = row.judges
    if row.sample:
        fields["sample"] = row.sample
    return fields


def pack(answer: CallOutcome | ProgramsOutcome | Validation | SandboxStatus) -> Packed:
    if not isinstance(answer, CallOutcome):
        return asdict(answer), b""
    rows = []
    for row in answer.rows:
        seldom = {name: value for name in _SELDOM if (value := getattr(row, name))}
        rows.append((row.status, row.value, row.wall_ms, row.cpu_ms, seldom))
    head = {
        "status": answer.status, "message": answer.message, "line": answer.line, "log": answer.log,
        "jail": answer.jail,
    }  # fmt: skip
    return head, marshal.dumps(rows, _MARSHAL)


def unpack_outcome(fields: dict[str, Any], body: bytes) -> CallOutcome:
    rows = [
        RowResult(status, value, wall_ms=wall, cpu_ms=cpu, **seldom)
        for status, value, wall, cpu, seldom in marshal.loads(body)
    ]
    return CallOutcome(**fields, rows=rows)


def unpack_programs(fields: dict[str, Any], _body: bytes) -> ProgramsOutcome:
    return ProgramsOutcome(**{**fields, "results": [ProgramResult(**result) for result in fields["results"]]})


def unpack_validation(fields: dict[str, Any], _body: bytes) -> Validation:
    return Validation(**{**fields, "entries": [EntryPoint(**entry) for entry in fields["entries"]]})


def unpack_status(fields: dict[str, Any], _body: bytes) -> SandboxStatus:
    return SandboxStatus(**fields)
