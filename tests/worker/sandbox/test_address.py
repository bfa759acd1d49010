"""Addresses of sandboxes."""

import pytest

from worker.sandbox import SandboxClient
from worker.sandbox.transport.address import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("/run/s.sock", Address(path="/run/s.sock")),
        ("unix:///run/s.sock", Address(path="/run/s.sock")),
        ("tcp://box.example:7000", Address(host="box.example", port=7000)),
        ("tcp://[::1]:7000", Address(host="::1", port=7000)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "tcp://box",
        "tcp://:1",
        "tcp://box:0",
        "http://box:1",
        "unix://box/s",
        "tcp://u:p@box:1",
        "tcp://box:1/x",
    ],
)
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        SandboxClient(text)
    with pytest.raises(ValueError, match="key file"):
        SandboxClient("tcp://box:1")
