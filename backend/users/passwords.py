"""Passwords: argon2id with the library's parameters, in threads of their own that yield to the rest of the process.

A hash takes 64 MiB and some 50 ms of several cores, and strangers may ask for one. So two run at a time, and few may
wait, from one place and in all; who comes beyond that is told to come back. No database connection is held meanwhile:
that is the callers' duty.
"""

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from reinforge.errors import InvalidInput, TooManyRequests

MOST_WAITING = 64
MOST_WAITING_HERE = 16
"""From one network address."""
_AT_ONCE = 2
_NICE = 10
_HASHER = PasswordHasher()
_NOBODYS = _HASHER.hash("the password of nobody")
"""Compared with where there is no user, so that the time of the answer does not tell whether there is one."""

T = TypeVar("T")


def _yield_to_others() -> None:
    """Linux sets the priority of one thread; those that argon2 starts inherit it."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="password", initializer=_yield_to_others)
_waiting: Counter[str] = Counter()


@contextmanager
def _turn(place: str) -> Iterator[None]:
    if _waiting.total() >= MOST_WAITING or _waiting[place] >= MOST_WAITING_HERE:
        raise TooManyRequests(
            "Too many passwords are being checked at this moment.",
            code="sign_in_busy",
            hint="Try again in some seconds.",
        )
    _waiting[place] += 1
    try:
        yield
    finally:
        _waiting[place] -= 1
        if not _waiting[place]:
            del _waiting[place]


async def _apart(place: str, work: Callable[[], T]) -> T:
    with _turn(place):
        return await asyncio.get_running_loop().run_in_executor(_threads, work)


async def hashed(password: str, *, name: str, email: str | None, place: str = "") -> str:
    """What is stored. place: network address of who asks.

    Raises InvalidInput for a password that is the person's own name or address, TooManyRequests.
    """
    if password.lower() in (name.lower(), (email or "").lower()):
        raise InvalidInput(
            "The password is the same as the name or the e-mail address.",
            code="weak_password",
            param="password",
            hint="Take one that nobody can guess from who you are.",
        )
    return await _apart(place, lambda: _hash(password))


async def matches(stored: str | None, password: str, *, place: str = "") -> bool:
    """Takes as long for a user without a password, or for none at all (`stored` None). Raises TooManyRequests."""
    right = await _apart(place, lambda: _verify(stored or _NOBODYS, password))
    return right and stored is not None


def is_outdated(stored: str) -> bool:
    """Made with weaker parameters than today's."""
    return _HASHER.check_needs_rehash(stored)


def _hash(password: str) -> str:
    return _HASHER.hash(password)


def _verify(stored: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
