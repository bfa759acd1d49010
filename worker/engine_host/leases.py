"""Leases of an engine host's clients, and the adapters that they hold."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reinforge.errors import NotFound, TooManyRequests, Unavailable
from worker.engine_host.protocol import LEASE_SECONDS, LocalProcess

MAX_LEASES = 64
MAX_ADAPTERS = 64
"""Most adapters of all clients; vLLM reads one that it no longer has in memory again from its folder."""


@dataclass(slots=True)
class HeldAdapter:
    name: str
    """Name on the vLLM server, which no other lease's adapter ever has."""
    folder: Path
    sha256: str


@dataclass(slots=True)
class Holder:
    id: str
    client: LocalProcess | None
    expires_at: float
    adapters: dict[str, HeldAdapter] = field(default_factory=dict)
    running: set[asyncio.Task[None]] = field(default_factory=set)
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def prefix(self) -> str:
        return self.id[:12]


class Leases:
    def __init__(
        self, *, seconds: float = LEASE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self._clock = seconds, clock
        self._holders: dict[str, Holder] = {}
        self._workers: set[LocalProcess] = set()
        self._unused_since = clock()

    def __len__(self) -> int:
        return len(self._holders)

    @property
    def adapters(self) -> list[HeldAdapter]:
        return [adapter for holder in self._holders.values() for adapter in holder.adapters.values()]

    @property
    def unused_seconds(self) -> float:
        return 0.0 if self._holders else self._clock() - self._unused_since

    @property
    def workers_ended(self) -> bool:
        """Whether clients named their workers, and all of those have ended."""
        return bool(self._workers) and not any(worker.alive for worker in self._workers)

    def open(self, client: LocalProcess | None, worker: LocalProcess | None) -> Holder:
        if len(self._holders) >= MAX_LEASES:
            raise TooManyRequests(
                f"This engine host already has {MAX_LEASES} clients.",
                code="sampler_host_full",
                retry_after=10,
            )
        if worker is not None:
            self._workers = {other for other in self._workers if other.alive} | {worker}
        holder = Holder(secrets.token_hex(16), client, self._clock() + self.seconds)
        self._holders[holder.id] = holder
        return holder

    def renew(self, id: str) -> Holder:
        """Raises Unavailable `sampler_lease_lost` for an unknown or expired lease."""
        holder = self._holders.get(id)
        if holder is None:
            raise Unavailable("The engine host does not have this lease.", code="sampler_lease_lost")
        holder.expires_at = self._clock() + self.seconds
        return holder

    def close(self, id: str) -> Holder | None:
        holder = self._holders.pop(id, None)
        if not self._holders:
            self._unused_since = self._clock()
        return holder

    def expired(self) -> list[str]:
        now = self._clock()
        return [
            holder.id
            for holder in self._holders.values()
            if holder.expires_at < now or (holder.client is not None and not holder.client.alive)
        ]

    def check_room(self) -> None:
        if len(self.adapters) >= MAX_ADAPTERS:
            raise TooManyRequests(
                f"This engine host already holds {MAX_ADAPTERS} adapters.",
                code="sampler_host_full",
                retry_after=10,
            )


def held_adapter(holder: Holder, name: str) -> HeldAdapter:
    if name not in holder.adapters:
        raise NotFound(f"This lease has no adapter {name!r}.", code="unknown_adapter")
    return holder.adapters[name]
