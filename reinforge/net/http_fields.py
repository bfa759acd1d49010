"""Checks the addresses and headers of servers that users configure."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

SENDER_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)


def checked_address(value: str, example: str, *, no_password: str) -> str:
    """Return the address. Raises ValueError unless it is http(s), without user and password."""
    try:
        parts = urlsplit(value)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"write an address such as {example}")
    if parts.username or parts.password:
        raise ValueError(f"take user and password out of the address: {no_password}")
    return value


def checked_headers(
    headers: Mapping[str, str], *, own: Collection[str] = (), own_prefix: str
) -> dict[str, str]:
    """Return the headers. Raises ValueError for those not in printable ASCII or set by our client."""
    for name, text in headers.items():
        lower = name.lower()
        if lower in SENDER_HEADERS or lower in own or lower.startswith(own_prefix):
            raise ValueError(f"the header {name} cannot be set: the platform sets it itself")
        if not (name + text).isascii() or not (name + text).isprintable() or not name.strip():
            raise ValueError(f"the header {name!r} has characters that headers cannot have")
    return dict(headers)
