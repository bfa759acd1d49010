"""Jails by the libraries they have loaded: what a reward imports is paid once, and by no other reward.

A jail whose zygote holds SciPy forks slower than one that holds nothing. So a pool's task keeps one jail without
libraries and a few with exactly those that a source names.
"""

import hashlib
from collections import OrderedDict

from worker.sandbox.daemon.session import Session
from worker.sandbox.jails import Jail

_KEPT = 4
"""Jails of one task: with every library loaded each takes about 200 MB."""
_SOURCES_KNOWN = 4096

Needs = frozenset[str]
"""Modules a zygote loads before it forks."""

NOTHING: Needs = frozenset()


class LibraryBroken(Exception):
    """An allowed library cannot be imported in a jail."""


class KnownSources:
    """What sources need, by their digest; the least recently asked for is forgotten first."""

    def __init__(self) -> None:
        self._needs: OrderedDict[bytes, Needs] = OrderedDict()

    def needs(self, source: str) -> Needs | None:
        """None: nobody has read the source's imports yet."""
        digest = _digest(source)
        if digest in self._needs:
            self._needs.move_to_end(digest)
        return self._needs.get(digest)

    def learn(self, source: str, needs: Needs) -> None:
        self._needs[_digest(source)] = needs
        if len(self._needs) > _SOURCES_KNOWN:
            self._needs.popitem(last=False)


class Family:
    """The jails of one task of the pool."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail
        self._sessions: OrderedDict[Needs, Session] = OrderedDict()

    def pids(self) -> list[int]:
        return [session.pid for session in self._sessions.values()]

    async def session(self, needs: Needs) -> Session:
        """A running jail that has loaded ``needs``; raises JailDied and :class:`LibraryBroken`."""
        session = self._sessions.get(needs)
        if session is not None and not session.worn_out:
            self._sessions.move_to_end(needs)
            return session
        await self.drop(needs)
        while len(self._sessions) >= _KEPT:
            await self.drop(next(iter(self._sessions)))
        session = self._sessions[needs] = await Session.start(self._jail)
        if needs and (failed := await session.preload(sorted(needs))):
            await self.drop(needs)
            raise LibraryBroken(failed)
        return session

    async def drop(self, needs: Needs) -> None:
        session = self._sessions.pop(needs, None)
        if session is not None:
            await session.kill()

    async def close(self) -> None:
        for needs in list(self._sessions):
            await self.drop(needs)


def _digest(source: str) -> bytes:
    return hashlib.sha256(source.encode("utf-8", "replace")).digest()
