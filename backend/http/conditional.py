"""Conditional requests (RFC 9110): `If-None-Match` answers 304 for an unchanged response, `If-Match` refuses
an edit of a changed `Editable`.
"""

from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request, Response

from reinforge.errors import MatchNeeded, Stale
from reinforge.schemas.common import Editable

PACKED = "-gzip"

E = TypeVar("E", bound=Editable)


def unchanged(request: Request, headers: dict[str, str]) -> Response | None:
    tag = headers["etag"]
    packed = f'{tag[:-1]}{PACKED}"'
    tags = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if "*" in tags or tag in tags:
        return Response(status_code=304, headers=headers)
    return Response(status_code=304, headers=headers | {"etag": packed}) if packed in tags else None


def tagged(view: E, response: Response) -> E:
    response.headers["etag"] = f'"{view.etag}"'
    return view


class Match:
    def __init__(self, header: str | None) -> None:
        self._tags = None if header is None else {_bare(tag) for tag in header.split(",")}

    def check(self, current: Editable) -> None:
        if self._tags is None:
            raise MatchNeeded(
                "The change needs the header If-Match.",
                hint="Send the `etag` of what you read as If-Match, or `*` to change it whatever it is.",
            )
        if "*" not in self._tags and current.etag not in self._tags:
            raise Stale(
                "The resource has changed since you read it.",
                hint="Look at `current`, then send the change with its `etag` as If-Match.",
                current=current.model_dump(mode="json"),
            )

    def check_absent(self) -> None:
        if self._tags:
            raise Stale(
                "The resource was deleted after you read it.",
                hint="Send the request without If-Match to create it again.",
            )


def _bare(tag: str) -> str:
    return tag.strip().strip('"').removesuffix(PACKED)


async def _match(if_match: Annotated[str | None, Header(max_length=1000)] = None) -> Match:
    return Match(if_match)


IfMatch = Annotated[Match, Depends(_match)]
