"""Which hosts may be called at a user's wish (graders' endpoints, webhooks): nothing inside the machine's own
network, unless its administrator says so.

A name is resolved once, every address it has is checked, and the request goes to the address that was checked:
a second answer of the name server changes nothing. Redirects are not followed.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from reinforge.errors import InvalidInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → addresses."""

ALLOW_VARIABLE = "REINFORGE_ALLOW_HOSTS"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Refused(Exception):
    """The address may not be called; the message says why and who can change it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: an address that was checked, and the name for the Host header and the certificate."""

    url: str
    host_header: str
    server_name: str


@dataclass(frozen=True, slots=True)
class Guard:
    """names: hosts that may be called wherever they are. networks: addresses that may."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    resolve: Resolve | None = None

    @classmethod
    def allowing(cls, text: str) -> "Guard":
        """From REINFORGE_ALLOW_HOSTS: names, addresses and networks, with commas. Raises InvalidInput."""
        names, networks = set(), []
        for each in (part.strip() for part in text.split(",") if part.strip()):
            try:
                networks.append(ipaddress.ip_network(each, strict=False))
            except ValueError:
                if "/" in each or ":" in each:
                    raise InvalidInput(
                        f"{ALLOW_VARIABLE} has {each!r}, which is neither a host name nor a network.",
                        code="invalid_setting",
                        hint="Write names, addresses or networks such as grader.internal,10.0.0.0/8.",
                    ) from None
                names.add(each.lower())
        return cls(frozenset(names), tuple(networks))

    async def target(self, url: str) -> Target:
        """Raises Refused."""
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.scheme not in ("http", "https") or not host:
            raise Refused(f"{url[:100]} is no address that can be called")
        try:
            found = await (self.resolve or resolve)(host, port)
        except OSError as error:
            raise Refused(f"{host} cannot be resolved: {error}") from error
        addresses = [ipaddress.ip_address(each.split("%")[0]) for each in found]
        if not addresses:
            raise Refused(f"{host} has no address")
        if host.lower() not in self.names:
            for address in addresses:
                self._check(host, address)
        chosen = addresses[0]
        literal = f"[{chosen}]" if chosen.version == 6 else str(chosen)
        shown = f"[{host}]" if ":" in host else host
        authority = shown if parts.port is None else f"{shown}:{parts.port}"
        pinned = urlunsplit((parts.scheme, f"{literal}:{port}", parts.path or "/", parts.query, ""))
        return Target(pinned, authority, host)

    def _check(self, host: str, address: Address) -> None:
        inner = _embedded(address)
        if any(
            each.version == net.version and each in net for each in (address, inner) for net in self.networks
        ):
            return
        for each in (address, inner):
            if not each.is_global or each.is_multicast:
                raise Refused(
                    f"{host} is {address}, an address inside a network; whoever runs this machine can allow it with "
                    f"{ALLOW_VARIABLE}"
                )


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries, for those that lead there; else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address if address.teredo is None else address.teredo[1]


async def resolve(host: str, port: int) -> list[str]:
    """By the system's resolver. Raises OSError."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label of more than 63 characters
        raise OSError("it is no host name") from error
    return [str(each[4][0]) for each in found]
