"""Separate jails for different sets of loaded libraries, since each library slows a zygote's forks."""

import hashlib
from collections import OrderedDict

from worker.sandbox.daemon.session import Session
from worker.sandbox.jails import Jail

_JAILS_PER_TASK = 4
"""Maximum jails per task of the pool; each takes about 200 MB with every library loaded."""
_MAX_SOURCES = 4096

Needs = frozenset[str]

NOTHING: Needs = frozenset()


class LibraryBroken(Exception):
    pass


class SourceNeeds:
    def __init__(self) -> None:
        self._needs: OrderedDict[bytes, Needs] = OrderedDict()

    def needs(self, source: str) -> Needs | None:
        digest = _digest(source)
        if digest in self._needs:
            self._needs.move_to_end(digest)
        return self._needs.get(digest)

    def learn(self, source: str, needs: Needs) -> None:
        self._needs[_digest(source)] = needs
        if len(self._needs) > _MAX_SOURCES:
            self._needs.popitem(last=False)


class Family:
    def __init__(self, jail: Jail) -> None:
        self._jail = jail
        self._sessions: OrderedDict[Needs, Session] = OrderedDict()

    def pids(self) -> list[int]:
        return [session.pid for session in self._sessions.values()]

    async def session(self, needs: Needs) -> Session:
        """Start or reuse a jail; raises JailDied and :class:`LibraryBroken`."""
        session = self._sessions.get(needs)
        if session is not None and not session.worn_out:
            self._sessions.move_to_end(needs)
            return session
        await self.drop(needs)
        while len(self._sessions) >= _JAILS_PER_TASK:
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
