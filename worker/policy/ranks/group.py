"""Messages and tensors between the ranks of a job, over gloo."""

import base64
import contextlib
import io
import os
import pickle
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from reinforge.errors import JobFailure

RANK_LOST = "rank_lost"
TIMEOUT_SECONDS = 1500.0
"""Longest wait for another rank; shorter than the watchdog's for an update, so that the error names the
cause.
"""
_POLL_SECONDS = 0.005
_WATCH_SECONDS = 1.0
_CLOSED = "closed"


class Store(Protocol):
    def set(self, key: str, value: str, /) -> None: ...

    def get(self, key: str, /) -> bytes: ...

    def check(self, keys: list[str], /) -> bool: ...


def _prefixed(prefix: str, store: Store) -> Any:
    return dist.PrefixStore(prefix, store)  # type: ignore[attr-defined, arg-type]


class RankGroup:
    """Group of all ranks. Rank 0 begins each exchange: the others poll a store, because a collective would time out
    while rank 0 samples.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        *,
        timeout: float = TIMEOUT_SECONDS,
        diagnose: Callable[[], str | None] = lambda: None,
        backend: str = "gloo",
    ) -> None:
        """diagnose: says which rank ended and how, if it can. backend: of collectives; messages use the CPU's.
        Raises JobFailure `rank_lost` if a rank does not start.
        """
        self.rank, self.size = rank, size
        self.bytes_moved: Counter[str] = Counter()
        """Bytes that passed through rank 0, by kind of message."""
        self._diagnose = diagnose
        self._on_gpus = "nccl" in backend
        self._timeout = timeout
        self._store = store
        self._calls = _prefixed("calls", store)
        self._number = 0
        with self._named():
            self.meet("start")
            dist.init_process_group(
                backend,
                store=_prefixed("gloo", store),
                rank=rank,
                world_size=size,
                timeout=timedelta(seconds=timeout),
            )

    def close(self) -> None:
        """Leave the group. Rank 0 also ends the other ranks, if it can reach them."""
        if self.rank == 0:
            with contextlib.suppress(RuntimeError):
                self._calls.set(_CLOSED, "")
        if dist.is_initialized():
            dist.destroy_process_group()

    def meet(self, where: str) -> None:
        """Announce that this rank is there; rank 0 waits until all ranks are, and raises the error of one that
        cannot.
        """
        store = _prefixed(where, self._store)
        store.set(str(self.rank), "")
        if self.rank > 0:
            return
        deadline = time.monotonic() + self._timeout
        while not store.check([str(other) for other in range(self.size)]):
            if error := _refusal(self._store):
                raise error
            if why := self._diagnose():
                raise rank_lost(why)
            if time.monotonic() > deadline:
                raise rank_lost(f"not all {self.size} ranks have started within {self._timeout:.0f} s")
            time.sleep(10 * _POLL_SECONDS)

    def refuse(self, error: Exception) -> None:
        """Called by a rank that ends in the middle of a collective: store the error that rank 0 is to raise."""
        with contextlib.suppress(RuntimeError):
            refuse_start(self._store, error)

    @contextlib.contextmanager
    def collective(self) -> Iterator[None]:
        """Context of passes that all ranks run together. Raises the error of another rank, or `rank_lost`, in place of
        that of a connection that this has closed.
        """
        try:
            with self._watched():
                yield
        except Exception as error:
            if not _is_of_connection(error):
                raise
            raise self._why(error) from error

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Aborts collectives between GPUs when another rank has ended, which NCCL does not notice by itself."""
        if not self._on_gpus:
            yield
            return
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_WATCH_SECONDS):
                if _refusal(self._store) or self._diagnose():
                    dist.distributed_c10d._abort_process_group()
                    return

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def scatter(self, messages: Sequence[Any]) -> None:
        """Called by rank 0: send each other rank its message. messages: by rank; the first is not sent."""
        with self._named():
            self._calls.set(str(self._number), "")
            self._number += 1
            packed = [_pack(None if rank == 0 else message) for rank, message in enumerate(messages)]
            sizes = torch.tensor([tensor.numel() for tensor in packed])
            dist.broadcast(sizes, 0)
            for rank in range(1, self.size):
                dist.send(packed[rank], rank)
            self.bytes_moved["calls"] += int(sizes[1:].sum())

    def next_message(self) -> Any:
        """Called by the other ranks: wait for rank 0's next message, without time limit; None if rank 0 has
        closed the group.
        """
        with _ended_if_silent(self._timeout) as contact:
            while not self._calls.check([str(self._number)]):
                if self._calls.check([_CLOSED]):
                    return None
                contact()
                time.sleep(_POLL_SECONDS)
        self._number += 1
        sizes = torch.empty(self.size, dtype=torch.int64)
        dist.broadcast(sizes, 0)
        packed = torch.empty(int(sizes[self.rank]), dtype=torch.uint8)
        dist.recv(packed, 0)
        return _unpack(packed)

    def reply(self, value: Any) -> None:
        """Called by the other ranks: answer the last message."""
        packed = _pack(value)
        dist.send(torch.tensor([packed.numel()]), 0)
        dist.send(packed, 0)

    def replies(self) -> list[Any]:
        """Called by rank 0: the answers of the other ranks, in rank order."""
        values = []
        with self._named():
            for rank in range(1, self.size):
                size = torch.empty(1, dtype=torch.int64)
                dist.recv(size, rank)
                packed = torch.empty(int(size), dtype=torch.uint8)
                dist.recv(packed, rank)
                values.append(_unpack(packed))
                self.bytes_moved["replies"] += int(size)
        return values

    def broadcast(self, tensor: Tensor) -> None:
        """Overwrite `tensor` on every rank with rank 0's."""
        with self._named():
            dist.broadcast(tensor, 0)
        self.bytes_moved["weights"] += tensor.nbytes * (self.size - 1)

    def reduce(self, tensor: Tensor) -> None:
        """Overwrite rank 0's `tensor` with the sum over all ranks."""
        with self._named():
            dist.reduce(tensor, 0)
        self.bytes_moved["gradients"] += tensor.nbytes * (self.size - 1)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError) as error:
            raise self._why(error) from error

    def _why(self, error: Exception) -> Exception:
        return _refusal(self._store) or rank_lost(self._diagnose() or _first_line(error))


def refuse_start(store: Store, error: Exception) -> None:
    """Called by a rank that cannot start: store the error that rank 0 is to raise, unless another rank's end is its
    cause.
    """
    if _is_of_connection(error):
        return
    _prefixed("refusal", store).set("error", base64.b64encode(pickle.dumps(error)).decode())


def _refusal(store: Store) -> Exception | None:
    refusals = _prefixed("refusal", store)
    try:
        if not refusals.check(["error"]):
            return None
        error: Exception = pickle.loads(base64.b64decode(refusals.get("error")))
    except RuntimeError:
        # The store is on a host that cannot be reached.
        return None
    return error


def _is_of_connection(error: Exception) -> bool:
    return isinstance(error, dist.DistError) or any(name in str(error) for name in ("gloo", "NCCL"))


def rank_lost(why: str) -> JobFailure:
    return JobFailure(
        f"A rank of this job was lost: {why}",
        code=RANK_LOST,
        hint="The next attempt continues from the last whole step. If it happens again, look at the machine's memory "
        "and at the end of the log, or lower devices_per_job.",
    )


def _first_line(error: Exception) -> str:
    return re.sub(r"^\[[^\]]*\] ", "", str(error).strip().partition("\n")[0])[:300]


def _pack(value: Any) -> Tensor:
    buffer = io.BytesIO()
    torch.save(value, buffer, pickle_protocol=pickle.HIGHEST_PROTOCOL)
    return torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)


def _unpack(packed: Tensor) -> Any:
    # Of another process of this job.
    return torch.load(io.BytesIO(packed.numpy().tobytes()), weights_only=False)


@contextlib.contextmanager
def _ended_if_silent(seconds: float) -> Iterator[Callable[[], None]]:
    """Ends this process if the yielded function is not called for `seconds`: a store on an unreachable host
    never answers.
    """
    last, done = [time.monotonic()], threading.Event()

    def contact() -> None:
        last[0] = time.monotonic()

    def watch() -> None:
        while not done.wait(min(1.0, seconds / 4)):
            if time.monotonic() - last[0] > seconds:
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield contact
    finally:
        done.set()
