"""Addresses of engine hosts."""

import ipaddress
from urllib.parse import urlsplit


def check_sampler_url(url: str) -> None:
    """Raise ValueError unless it is https://HOST[:PORT], or http:// on this machine."""
    parts = urlsplit(url)
    plain = parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/")
    if not plain or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(f"{url!r} is not https://HOST[:PORT]")
    parts.port  # noqa: B018 - raises ValueError for an impossible one
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError(f"{url!r} would send token and prompts without encryption: use https")


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
