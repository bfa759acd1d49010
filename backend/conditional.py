"""Conditional requests: an answer that the asker already has is not sent again (RFC 9110, `If-None-Match`)."""

from fastapi import Request, Response

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
