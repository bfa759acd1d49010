"""Checks target addresses of user-configured requests (judges, webhooks): internal ones are refused."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from reinforge.errors import InvalidInput
from reinforge.net.own_networks import connected

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

ALLOW_VARIABLE = "REINFORGE_ALLOW_HOSTS"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# By the registries of special addresses (IANA, RFC 6890), whatever the interpreter's release knows of them.
_INTERNET = ipaddress.ip_network("2000::/3")
_NOT_INTERNET = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3", "2001::/23", "2001:db8::/32", "3fff::/20",
    )
]  # fmt: skip


class AddressRefused(Exception):
    pass


class Unresolved(AddressRefused):
    """Error: the host name has no address."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL with its checked addresses, and the host name for the Host header and the certificate."""

    urls: tuple[str, ...]
    host_header: str
    server_name: str

    @property
    def url(self) -> str:
        return self.urls[0]


@dataclass(frozen=True, slots=True)
class Guard:
    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    resolve: Resolve | None = None

    @classmethod
    def allowing(cls, text: str) -> "Guard":
        """Parse REINFORGE_ALLOW_HOSTS: names, addresses, networks. Raises InvalidInput if malformed."""
        names, networks = set(), []
        for entry in (part.strip() for part in text.split(",") if part.strip()):
            try:
                networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                if "/" in entry or ":" in entry:
                    raise InvalidInput(
                        f"{ALLOW_VARIABLE} has {entry!r}, which is neither a host name nor a network.",
                        code="invalid_setting",
                        hint="Write names, addresses or networks such as grader.internal,10.0.0.0/8.",
                    ) from None
                names.add(entry.lower())
        return cls(frozenset(names), tuple(networks))

    async def target(self, url: str) -> Target:
        """Resolve a URL and check its addresses. Raises Unresolved if it has none, AddressRefused if one
        is not allowed.
        """
        parts, host, port = _parts(url)
        try:
            resolved = await (self.resolve or resolve)(host, port)
        except OSError as error:
            raise Unresolved(f"the host name {host} cannot be resolved: {error}") from error
        addresses = [ipaddress.ip_address(literal.split("%")[0]) for literal in resolved]
        if not addresses:
            raise Unresolved(f"the host name {host} has no address")
        if host.lower() not in self.names:
            for address in addresses:
                self._check(host, address)
        name = _ascii(host)
        bracketed_host = f"[{name}]" if ":" in name else name
        authority = bracketed_host if parts.port is None else f"{bracketed_host}:{parts.port}"
        path = parts.path or "/"
        literals = (
            f"[{address}]" if address.version == 6 else str(address) for address in dict.fromkeys(addresses)
        )
        urls = (
            urlunsplit((parts.scheme, f"{literal}:{port}", path, parts.query, "")) for literal in literals
        )
        return Target(tuple(urls), authority, name)

    def check_for_proxy(self, url: str, proxy: str) -> None:
        """Check a URL whose host name a proxy resolves.

        Raises AddressRefused for names and internal addresses that are not allowed.
        """
        _, host, _ = _parts(url)
        if host.lower() in self.names:
            return
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            raise AddressRefused(
                f"{host} would be looked up by the proxy {_without_password(proxy)}, so its "
                f"addresses cannot be checked; "
                f"an administrator can allow it by adding {host} to {ALLOW_VARIABLE}"
            ) from None
        self._check(host, address)

    def _check(self, host: str, address: Address) -> None:
        inner = _embedded(address)
        if any(
            candidate.version == net.version and candidate in net
            for candidate in (address, inner)
            for net in self.networks
        ):
            return
        if not _is_internet(inner) or any(inner in network for network in connected()):
            what = "" if host == str(address) else f" {address},"
            raise AddressRefused(
                f"{host} is{what} an address inside a network; an administrator can allow it by adding "
                f"{host} to {ALLOW_VARIABLE}"
            )


def _parts(url: str) -> tuple[SplitResult, str, int]:
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        parts, host, port = SplitResult("", "", "", "", ""), "", None
    if parts.scheme not in ("http", "https") or not host:
        raise AddressRefused(f"{url[:100]} is not an http(s) address")
    return parts, host, port or (443 if parts.scheme == "https" else 80)


def _ascii(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError as error:
        raise AddressRefused(f"{host} is not a valid host name") from error


def _without_password(proxy: str) -> str:
    return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")


def _is_internet(address: Address) -> bool:
    if any(address in network for network in _NOT_INTERNET):
        return False
    return isinstance(address, ipaddress.IPv4Address) or address in _INTERNET


def _embedded(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address


async def resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        records = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except ValueError as error:  # a label of more than 63 characters
        raise OSError("it is not a valid host name") from error
    return [str(record[4][0]) for record in records]
