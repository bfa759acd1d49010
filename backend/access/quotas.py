"""Concurrency limits per key and project, in each API process."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from fastapi import Request

from backend.settings import Settings
from reinforge.errors import TooManyRequests

RETRY_AFTER_SECONDS = 5
Thing = Literal["requests", "streams", "body_bytes", "upload_bytes"]
_NAMES: dict[Thing, str] = {
    "requests": "requests",
    "streams": "live streams",
    "body_bytes": "bytes of JSON",
    "upload_bytes": "bytes of files",
}
_CODES: dict[Thing, str] = {
    "requests": "too_many_requests",
    "streams": "too_many_streams",
    "body_bytes": "too_many_bytes",
    "upload_bytes": "too_many_bytes",
}


@dataclass(frozen=True)
class RequestSender:
    key: str
    project: str


class Bounds:
    def __init__(self, settings: Settings) -> None:
        self._amounts: Counter[tuple[Thing, str]] = Counter()
        self._of_key: dict[Thing, int] = {"requests": settings.key_requests, "streams": settings.key_streams}
        self._of_project: dict[Thing, int] = {
            "requests": settings.project_requests,
            "streams": settings.project_streams,
            "body_bytes": settings.project_body_bytes,
            "upload_bytes": max(settings.project_upload_bytes, settings.upload_limit_bytes),
        }

    def add(self, who: RequestSender, thing: Thing, amount: int = 1) -> None:
        for holder, limit, name in self._holders(who, thing):
            if self._amounts[thing, holder] + amount > limit:
                raise _refused(thing, limit, name)
        for holder, _, _ in self._holders(who, thing):
            self._amounts[thing, holder] += amount

    def remove(self, who: RequestSender, thing: Thing, amount: int = 1) -> None:
        for holder, _, _ in self._holders(who, thing):
            self._amounts[thing, holder] -= amount
            if not self._amounts[thing, holder]:
                del self._amounts[thing, holder]

    def _holders(self, who: RequestSender, thing: Thing) -> list[tuple[str, int, str]]:
        holders = [(who.project, self._of_project[thing], "project")]
        if thing in self._of_key:
            holders.append((who.key, self._of_key[thing], "key"))
        return holders


class RequestTicket:
    def __init__(self, bounds: Bounds, who: RequestSender) -> None:
        self._bounds, self._who = bounds, who
        self._amounts: Counter[Thing] = Counter()
        self._add("requests", 1)

    def become_stream(self) -> None:
        if not self._amounts["streams"]:
            self._add("streams", 1)
            self._remove("requests", 1)

    def hold(self, size: int, *, file: bool) -> None:
        thing: Thing = "upload_bytes" if file else "body_bytes"
        if (more := size - self._amounts[thing]) > 0:
            self._add(thing, more)

    def close(self) -> None:
        for thing, amount in list(self._amounts.items()):
            self._remove(thing, amount)

    def _add(self, thing: Thing, amount: int) -> None:
        self._bounds.add(self._who, thing, amount)
        self._amounts[thing] += amount

    def _remove(self, thing: Thing, amount: int) -> None:
        self._bounds.remove(self._who, thing, amount)
        self._amounts[thing] -= amount


def count(request: Request, key: str, project: str) -> None:
    if ticket_of(request) is None:
        request.state.ticket = RequestTicket(request.app.state.bounds, RequestSender(key, project))


def ticket_of(request: Request) -> RequestTicket | None:
    ticket = getattr(request.state, "ticket", None)
    return ticket if isinstance(ticket, RequestTicket) else None


def count_stream(request: Request) -> None:
    if (ticket := ticket_of(request)) is not None:
        ticket.become_stream()


def _refused(thing: Thing, limit: int, holder: str) -> TooManyRequests:
    setting = f"REINFORGE_{holder}_{thing}".upper()
    return TooManyRequests(
        f"With this request, this {holder} would exceed its limit of {limit:,} {_NAMES[thing]} at once.",
        code=_CODES[thing],
        hint=f"Try again when some have ended. Whoever runs the platform can raise {setting}.",
        retry_after=RETRY_AFTER_SECONDS,
    )
