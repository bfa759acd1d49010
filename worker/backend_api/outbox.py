"""Outbox of records, stored on disk in sequence until the backend acknowledges them."""

import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from reinforge.records import RECORD, Record

MAX_BATCH_RECORDS = 200
MAX_BATCH_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class _Place:
    sequence: int
    offset: int
    length: int
    data: bytes | None


class Outbox:
    """Outbox for one writer and one sender. Only file positions and unwritten records are kept in memory."""

    def __init__(self, path: Path) -> None:
        # Unbuffered: data refused by a full disk would stay in the buffer and fail every later seek and read.
        self._file = path.open("w+b", buffering=0)
        self._places: deque[_Place] = deque()
        self._change = threading.Condition()
        self._end = 0

    def put(self, record: Record) -> None:
        data = record.model_dump_json().encode()
        with self._change:
            unwritten = None
            try:
                self._file.seek(self._end)
                if self._file.write(data) != len(data):  # partly written; the next record overwrites it
                    unwritten = data
            except OSError:
                unwritten = data
            self._places.append(_Place(record.sequence, self._end, len(data), unwritten))
            self._end += 0 if unwritten is not None else len(data)
            self._change.notify_all()

    def peek(self) -> list[Record]:
        with self._change:
            batch: list[bytes] = []
            size = 0
            for place in self._places:
                size += place.length
                if batch and (len(batch) >= MAX_BATCH_RECORDS or size > MAX_BATCH_BYTES):
                    break
                batch.append(place.data if place.data is not None else self._read(place))
        return [RECORD.validate_json(data) for data in batch]

    def acknowledge(self, sequence: int) -> None:
        with self._change:
            while self._places and self._places[0].sequence <= sequence:
                self._places.popleft()
            if not self._places:
                self._file.truncate(0)
                self._end = 0
            self._change.notify_all()

    def wait(self, seconds: float) -> bool:
        with self._change:
            return self._change.wait_for(lambda: bool(self._places), seconds)

    @property
    def is_empty(self) -> bool:
        with self._change:
            return not self._places

    def close(self) -> None:
        self._file.close()

    def _read(self, place: _Place) -> bytes:
        self._file.seek(place.offset)
        return self._file.read(place.length)
