"""Networks that the host is connected to, from `/proc/net`."""

import ipaddress
from pathlib import Path

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_WIDEST = {4: 8, 6: 16}
"""Shortest prefix length of a local network, by IP version; shorter ones lead to the internet."""


def connected(proc: Path = Path("/proc/net")) -> list[Network]:
    networks = [*_ipv4(_lines(proc / "route")[1:]), *_ipv6(_lines(proc / "if_inet6"))]
    return [network for network in networks if network.prefixlen >= _WIDEST[network.version]]


def _ipv4(lines: list[str]) -> list[Network]:
    """Networks in lines of `route` that have no gateway. Addresses there are little-endian hexadecimal."""
    networks: list[Network] = []
    for line in lines:
        _, destination, gateway, *rest = line.split()
        if int(gateway, 16) == 0 and len(rest) > 4:
            address, mask = (int.from_bytes(bytes.fromhex(text), "little") for text in (destination, rest[4]))
            networks.append(ipaddress.IPv4Network((address, mask.bit_count()), strict=False))
    return networks


def _ipv6(lines: list[str]) -> list[Network]:
    """Networks in lines of `if_inet6`, such as `fd00…02 04 40 00 82 eth0` (40: prefix length in hex)."""
    fields = [line.split() for line in lines]
    return [
        ipaddress.IPv6Network((int(columns[0], 16), int(columns[2], 16)), strict=False) for columns in fields
    ]


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
