"""Trainer side of the supervisor connection: records and blobs out, commands in."""

import errno
import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import ValidationError

from reinforge.records import BaseRecord, Blob, Command, Ended

EXIT_ORPHANED = 75

R = TypeVar("R", bound=BaseRecord)


class Reporter(Protocol):
    folder: Path

    def report(self, record: type[R], **fields: Any) -> R:
        """Number, stamp and send one record. Raises OSError."""

    def metrics(
        self, step: int, kind: Literal["train", "held_out"], values: dict[str, float | None]
    ) -> None: ...

    def blob(self, content: bytes) -> Blob:
        """Save an immutable file named by its hash."""

    def commands(self) -> list[Command]: ...

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` from another thread as soon as a cancel arrives."""

    def on_pause(self, interrupt: Callable[[], None] | None) -> None:
        """Call `interrupt` at a pause, for work that the next attempt can repeat. None removes it."""

    @property
    def cancelling(self) -> bool: ...


class FolderReporter:
    def __init__(self, folder: Path, *, first_sequence: int = 1) -> None:
        self.folder = folder
        self._sequence = first_sequence
        # Unbuffered: otherwise a write that failed on a full disk would be retried with every later record.
        self._records = (folder / "records.jsonl").open("ab", buffering=0)
        self._metrics = folder / "metrics.jsonl"
        self._blobs = folder / "blobs"
        self._blobs.mkdir(exist_ok=True)
        self._lock = threading.RLock()  # a signal may bring a command while its own thread reports
        self._commands: list[Command] = []
        self._cancel = threading.Event()
        self._interrupt: Callable[[], None] | None = None
        self._interrupt_to_pause: Callable[[], None] | None = None

    def report(self, record: type[R], **fields: Any) -> R:
        with self._lock:
            made = record(sequence=self._sequence, ts=time.time(), **fields)
            line = made.model_dump_json().encode() + b"\n"
            try:
                self._append(line)
            except OSError:
                # The last record must be sent even when the disk is full, since it reports that.
                if record is not Ended:
                    raise
            self._sequence += 1  # only now: a record that was not sent must leave no gap
            self._send(line)
        return made

    def _append(self, line: bytes) -> None:
        """Append a whole line or nothing."""
        size = os.fstat(self._records.fileno()).st_size
        try:
            if self._records.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
        except OSError:
            self._records.truncate(size)
            raise

    def metrics(self, step: int, kind: Literal["train", "held_out"], values: dict[str, float | None]) -> None:
        with self._metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "kind": kind, "values": values}) + "\n")

    def rewind(self, step: int) -> None:
        """Drop an earlier attempt's metrics after `step`."""
        if not self._metrics.exists():
            return
        lines = self._metrics.read_bytes().splitlines(keepends=True)
        remaining = [
            line for line in lines if step and line.endswith(b"\n") and json.loads(line)["step"] <= step
        ]
        self._metrics.write_bytes(b"".join(remaining))

    def blob(self, content: bytes) -> Blob:
        name = hashlib.sha256(content).hexdigest()
        path = self._blobs / name
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            try:
                with partial.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                partial.rename(path)
            finally:
                partial.unlink(missing_ok=True)
        return Blob(sha256=name, bytes=len(content))

    def commands(self) -> list[Command]:
        with self._lock:
            taken, self._commands = self._commands, []
        return taken

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        if self._cancel.is_set():
            interrupt()

    def on_pause(self, interrupt: Callable[[], None] | None) -> None:
        with self._lock:
            self._interrupt_to_pause = interrupt
            waiting = any(command.kind == "pause" for command in self._commands)
        if waiting and interrupt is not None:
            interrupt()

    @property
    def cancelling(self) -> bool:
        return self._cancel.is_set()

    def receive(self, command: Command) -> None:
        with self._lock:
            self._commands.append(command)
            to_pause = self._interrupt_to_pause
        if command.kind == "pause" and to_pause is not None:
            to_pause()
        if command.kind == "cancel":
            self._cancel.set()
            if self._interrupt is not None:
                self._interrupt()

    def _send(self, line: bytes) -> None: ...


class PipeReporter(FolderReporter):
    """Sends records on file descriptor 3, reads commands on standard input."""

    def __init__(self, folder: Path, *, records: int, commands: int, first_sequence: int = 1) -> None:
        super().__init__(folder, first_sequence=first_sequence)
        self._pipe = records
        threading.Thread(target=self._listen, args=(commands,), name="commands", daemon=True).start()

    def _send(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._pipe, view) :]
        except BrokenPipeError:
            os._exit(EXIT_ORPHANED)

    def _listen(self, commands: int) -> None:
        # Unbuffered: a buffered stream is locked while it waits, and the interpreter could not shut down.
        for line in io.FileIO(commands, closefd=False):
            try:
                self.receive(Command.model_validate_json(line))
            except ValidationError as error:
                print(f"ignored an invalid command: {error}", flush=True)  # noqa: T201 - the trainer's log
        os._exit(EXIT_ORPHANED)


class LocalReporter(FolderReporter):
    def __init__(
        self,
        folder: Path,
        *,
        show: Callable[[BaseRecord], None] | None = None,
        first_sequence: int = 1,
    ) -> None:
        super().__init__(folder, first_sequence=first_sequence)
        self._show = show

    def report(self, record: type[R], **fields: Any) -> R:
        made = super().report(record, **fields)
        if self._show is not None:
            self._show(made)
        return made
