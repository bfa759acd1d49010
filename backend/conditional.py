"""Conditional requests (RFC 9110): an answer that the asker already has is not sent again (`If-None-Match`), and an
edit of something that has changed meanwhile is refused (`If-Match`).
"""

import hashlib
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from reinforge.errors import Stale

PACKED = "-gzip"
"""What `compression` adds inside the quotes of a strong entity tag: other bytes, another tag."""


def unchanged(request: Request, headers: dict[str, str]) -> Response | None:
    """The 304 with these headers when the asker has the answer of their `etag`, packed or not."""
    tag = headers["etag"]
    packed = f'{tag[:-1]}{PACKED}"'
    given = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if "*" in given or tag in given:
        return Response(status_code=304, headers=headers)
    return Response(status_code=304, headers=headers | {"etag": packed}) if packed in given else None


def etag_of(shown: BaseModel, *, besides: frozenset[str] = frozenset()) -> str:
    """A strong entity tag of what the API shows of a thing; `besides` are fields that no edit is about."""
    text = shown.model_dump_json(exclude=set(besides))
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


class Match:
    """The request's `If-Match`, if it has one."""

    def __init__(self, given: str | None) -> None:
        self._given = given

    def check(self, shown: BaseModel, *, besides: frozenset[str] = frozenset()) -> None:
        """Before an edit, with the thing locked. Raises Stale when it is not what the asker saw."""
        if self._given is None or self._given.strip() == "*":
            return
        tag = etag_of(shown, besides=besides)
        known = {tag, f'{tag[:-1]}{PACKED}"'}
        if known.isdisjoint(each.strip() for each in self._given.split(",")):
            raise Stale(
                "It has changed since you read it.",
                hint="Read it again, then send the change with the new ETag as If-Match.",
            )


def _match(if_match: Annotated[str | None, Header(max_length=1000)] = None) -> Match:
    """`If-Match`: the ETag of the answer that the change starts from; without it the last one wins."""
    return Match(if_match)


IfMatch = Annotated[Match, Depends(_match)]
