"""The sandbox as its users see it: blocking calls to a running sandboxd."""

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from . import wire
from .limits import MAX_REQUEST_BYTES, MAX_ROWS, Timeouts
from .outcome import (
    RETRIED_ROWS,
    CallOutcome,
    Granularity,
    Isolation,
    RewardRow,
    RowResult,
    SandboxStatus,
    Validation,
)  # fmt: skip

ROWS_PER_CALL = 16
_BYTES_PER_CALL = MAX_REQUEST_BYTES // 4
_IN_FLIGHT = 4


class SandboxClient:
    """Scores completions in the sandbox behind ``socket_path``. Safe to use from several threads.

    Connections are opened as threads need them and kept; the daemon shares its jails between processes, however
    many connections each has. Use as a context manager or call :meth:`close`.
    """

    def __init__(self, socket_path: str | os.PathLike[str]) -> None:
        self._path = Path(socket_path)
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()

    def score(
        self,
        source: str,
        rows: Sequence[RewardRow],
        *,
        entry: str | None = None,
        granularity: Granularity = "sample",
        isolate: Isolation = "batch",
        timeouts: Timeouts | None = None,
    ) -> CallOutcome:
        """Score rows with a Python reward; the outcome has one result per row, in order.

        source: the reward's module. entry: the function's name; without it ``grade`` or the only one there is.
        granularity: what the function sees at once: one row; the rows of one ``group``; or a call's rows, at most
        16. isolate: "sample" gives every such unit a process of its own. Rows that ended by ``deadline`` or
        ``skipped`` and calls that ended by ``sandbox_error`` are tried once more. Blocks; raises ``ValueError``
        when a row or group is too large to be sent.
        """
        if not rows:
            return CallOutcome("ok")
        options: dict[str, Any] = {
            "op": "score", "source": source, "entry": entry, "granularity": granularity, "isolate": isolate,
            "timeouts": asdict(timeouts or Timeouts()),
        }  # fmt: skip
        results: dict[int, RowResult] = {}
        first = self._score(options, rows, range(len(rows)), results)
        if first.status != "ok":
            return first
        again = [i for i in range(len(rows)) if results[i].status in RETRIED_ROWS]
        if again:
            second = self._score(options, rows, again, results)
            if second.status != "ok":
                return second
        return replace(first, rows=[results[i] for i in range(len(rows))])

    def validate(self, source: str, *, entry: str | None = None) -> Validation:
        """Load a module without scoring and list the functions that can score."""
        request = {"op": "validate", "source": source, "entry": entry}
        for _ in (1, 2):
            answer = self._ask([request])
            if isinstance(answer, str):
                return Validation("sandbox_unavailable", message=answer)
            validation = wire.unpack_validation(answer[0])
            if validation.status != "sandbox_error":
                break
        return validation

    def status(self) -> SandboxStatus:
        """Whether code rewards can run, in which jail, or why not; also when no daemon answers."""
        answer = self._ask([{"op": "status"}])
        return SandboxStatus(False, None, [answer]) if isinstance(answer, str) else SandboxStatus(**answer[0])

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _score(
        self,
        options: dict[str, Any],
        rows: Sequence[RewardRow],
        indices: Sequence[int],
        results: dict[int, RowResult],
    ) -> CallOutcome:
        """Score ``indices`` of ``rows`` into ``results``; the first outcome that is not ok ends it."""
        batches = list(_batches(rows, indices, options["granularity"]))
        wanted = list(range(len(batches)))
        outcome = CallOutcome("ok")
        for attempt in (1, 2):
            answers = self._ask([{**options, "rows": [_fields(rows[i]) for i in batches[k]]} for k in wanted])
            if isinstance(answers, str):
                return CallOutcome("sandbox_unavailable", message=answers)
            failed = []
            for k, answer in zip(wanted, answers, strict=True):
                outcome = wire.unpack_outcome(answer)
                if outcome.status == "sandbox_error" and attempt == 1:
                    failed.append(k)
                elif outcome.status != "ok":
                    return outcome
                else:
                    results.update(zip(batches[k], outcome.rows, strict=True))
            wanted = failed
            if not wanted:
                break
        return replace(outcome, status="ok", message=None, rows=[])

    def _ask(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]] | str:
        """The answers in order, or why there is none."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is not None and connection.stale():
                connection.close()
                connection = None
            connection = connection or _Connection(self._path)
            answers = connection.ask(requests)
        except (OSError, EOFError) as error:
            if connection is not None:
                connection.close()
            return f"no sandbox answers on {self._path}: {error}"
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return answers


class _Connection:
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise

    def stale(self) -> bool:
        """Whether the daemon closed this connection while it was idle."""
        try:
            self._socket.setblocking(False)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.setblocking(True)
        return True

    def ask(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send requests, a few ahead of their answers, and return the answers in order."""
        answers: dict[int, dict[str, Any]] = {}
        waiting = iter(enumerate(requests))
        for number, request in islice(waiting, _IN_FLIGHT):
            self._socket.sendall(wire.encode({**request, "id": number}))
        while len(answers) < len(requests):
            answer = wire.decode(self._read(wire.frame_size(self._read(wire.LENGTH.size))))
            if "error" in answer:
                raise ValueError(answer["error"])
            answers[answer["id"]] = answer["result"]
            for number, request in islice(waiting, 1):
                self._socket.sendall(wire.encode({**request, "id": number}))
        return [answers[i] for i in range(len(requests))]

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the connection was closed")
            data += part
        return bytes(data)


def _batches(
    rows: Sequence[RewardRow], indices: Sequence[int], granularity: Granularity
) -> Iterator[list[int]]:
    """Indices call by call: at most 16 rows and 16 MiB, a group never divided."""
    if granularity == "group":
        groups: dict[object, list[int]] = {}
        for i in indices:
            groups.setdefault(rows[i].group, []).append(i)
        units = list(groups.values())
    else:
        units = [[i] for i in indices]
    batch: list[int] = []
    size = 0
    for unit in units:
        unit_size = sum(_size(rows[i]) for i in unit)
        if unit_size > MAX_REQUEST_BYTES // 2 or len(unit) > MAX_ROWS:
            raise ValueError(
                f"{len(unit)} rows of {unit_size} bytes that belong together are too large for one call"
            )
        if batch and (len(batch) + len(unit) > ROWS_PER_CALL or size + unit_size > _BYTES_PER_CALL):
            yield batch
            batch, size = [], 0
        batch, size = batch + unit, size + unit_size
    if batch:
        yield batch


def _fields(row: RewardRow) -> dict[str, Any]:
    """A row for the wire, without the deep copies of ``dataclasses.asdict``."""
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _size(row: RewardRow) -> int:
    """Roughly a row's bytes on the wire; exact enough to keep a call far below the limit."""
    return (
        len(row.completion)
        + len(str(row.prompt))
        + len(str(row.item))
        + len(str(row.sample))
        + len(str(row.judges))
    )
