"""The machine's own networks, read from tables as Linux writes them."""

from ipaddress import ip_network
from pathlib import Path

from reinforge.net.own_networks import connected

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0071CB00\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0
"""
ADDRESSES = """\
20010db8000000000000000000000002 04 40 00 82     eth0
00000000000000000000000000000001 01 80 10 80       lo
"""


def test_routes_without_a_gateway_and_prefixes_of_addresses(tmp_path: Path) -> None:
    (tmp_path / "route").write_text(ROUTES)
    (tmp_path / "if_inet6").write_text(ADDRESSES)
    assert connected(tmp_path) == [
        ip_network(network) for network in ("0.203.113.0/24", "2001:db8::/64", "::1/128")
    ]


def test_a_system_without_these_tables_has_none(tmp_path: Path) -> None:
    assert connected(tmp_path) == []
