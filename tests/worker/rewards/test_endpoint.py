"""Endpoints: signed requests, an address guard, and answers that are checked."""

import asyncio
import ipaddress
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reinforge.errors import InvalidInput
from reinforge.grading.types import EndpointGrader
from reinforge.net.outbound import AddressRefused, Guard
from reinforge.net.webhook_signature import signed_headers, verify
from tests.support.judge_stub import JudgeRequest, Reply, Stub
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.endpoint import EndpointRater
from worker.rewards.network import NetworkLoop
from worker.rewards.rater import RewardInput

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOOPBACK = Guard.allowing("127.0.0.0/8")


async def at_once(_: float) -> None:
    """No pauses between tries."""


def call_endpoint(
    behave: Callable[[JudgeRequest, int], Reply],
    guard: Guard = LOOPBACK,
    secret: str | None = SECRET,
    **settings: Any,
) -> tuple[list[RewardResult], Stub]:
    network = NetworkLoop()
    try:
        with Stub(behave) as stub:
            grader = EndpointGrader.model_validate(
                {"url": stub.url + "/grade?x=1", "timeout_s": 5} | settings
            )
            rater = EndpointRater(grader, network, guard, secret, sleep=at_once)
            row = RewardInput(Scorable("héllo", {"answer": 3}, [{"role": "user", "content": "?"}]), 0)
            return asyncio.run(rater.rate([row])), stub
    finally:
        network.close()


def answer(**body: Any) -> Reply:
    return Reply(json.dumps(body).encode())


def test_a_row_arrives_signed_and_its_answer_becomes_a_value() -> None:
    (result,), stub = call_endpoint(
        lambda *_: answer(score=2, reason="fine", parts={"style": 0.5}), range=[0, 1], headers={"x-mine": "1"}
    )
    assert (result.status, result.value, result.reason, result.parts) == ("ok", 1.0, "fine", {"style": 0.5})
    (request,) = stub.requests
    assert request.path == "/grade?x=1"
    assert (request.body["item"], request.body["sample"]["output_text"]) == ({"answer": 3}, "héllo")
    assert request.body["prompt"] == [{"role": "user", "content": "?"}]
    assert request.headers["x-mine"] == "1"
    assert verify(SECRET, request.headers, request.raw)
    assert not verify(SECRET, request.headers, request.raw + b" ")
    assert request.headers["host"] == stub.url.removeprefix("http://")


def test_a_second_try_has_the_same_id() -> None:
    (result,), stub = call_endpoint(lambda _, number: Reply(b"", 503) if number == 1 else answer(score=0.5))
    assert result.value == 0.5
    first, second = stub.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == first.body["id"]


def test_null_does_not_apply() -> None:
    (result,), _ = call_endpoint(lambda *_: answer(score=None, reason="no answer wanted"))
    assert (result.status, result.value, result.reason) == ("not_applicable", None, "no answer wanted")


def test_without_a_secret_nothing_is_signed() -> None:
    _, stub = call_endpoint(lambda *_: answer(score=1), secret=None)
    assert "webhook-signature" not in stub.requests[0].headers


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(b"not json"), "endpoint_malformed"),
        (Reply(b"[1]"), "endpoint_malformed"),
        (answer(points=1), "endpoint_malformed"),
        (answer(score="1"), "endpoint_malformed"),
        (Reply(b'{"score": NaN}'), "endpoint_malformed"),
        (Reply(b'{"score": 1e999}'), "endpoint_malformed"),
        (Reply(b'{"score": ' + b"9" * 4000 + b"}"), "endpoint_malformed"),
        (answer(score=1, parts=[1]), "endpoint_malformed"),
        (answer(score=1, parts={"a": "b"}), "endpoint_malformed"),
        (Reply(b"gone", 500), "endpoint_status"),
        (Reply(b"no", 404), "endpoint_status"),
        (Reply(b"", 307, {"location": "http://169.254.169.254/"}), "endpoint_redirect"),
        (Reply(b" " * (2 << 20)), "endpoint_too_large"),
        (Reply(hang=True), "endpoint_timeout"),
        (Reply(drip=True), "endpoint_timeout"),
    ],
)
def test_what_goes_wrong_is_a_named_error(reply: Reply, code: str) -> None:
    short = {"timeout_s": 0.3, "retries": 0} if reply.hang or reply.drip else {"retries": 1}
    (result,), _ = call_endpoint(lambda *_: reply, **short)
    assert (result.status, result.code, result.value) == ("endpoint_error", code, None)


def test_an_address_inside_is_not_called() -> None:
    (result,), stub = call_endpoint(lambda *_: answer(score=1), guard=Guard())
    assert (result.status, result.code) == ("endpoint_error", "endpoint_refused")
    assert "REINFORGE_ALLOW_HOSTS" in (result.message or "")
    assert not stub.requests


def target(url: str, addresses: Sequence[str], allow: str = "") -> Any:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    allowed = Guard.allowing(allow)
    return asyncio.run(Guard(allowed.names, allowed.networks, resolve).target(url))


INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "ff02::1", "192.0.2.1", "198.18.0.1",
    "64:ff9b:1::808:808", "fec0::1", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "192.0.0.8", "192.0.0.9",
    "3fff::1", "2001::1", "2001:db8::1", "5f00::1", "100::1", "240.0.0.1", "203.0.113.1", "::ffff:169.254.169.254",
]  # fmt: skip


def test_an_international_name_is_ascii_in_headers_and_certificates() -> None:
    called = target("https://münchen.example:8443/", ["93.184.216.34"])
    assert (called.host_header, called.server_name) == (
        "xn--mnchen-3ya.example:8443",
        "xn--mnchen-3ya.example",
    )
    with pytest.raises(AddressRefused):
        target(f"https://{'ü' * 70}.example/", ["93.184.216.34"])


@pytest.mark.parametrize("address", INSIDE)
def test_no_way_of_writing_an_inner_address_passes(address: str) -> None:
    with pytest.raises(AddressRefused):
        target("https://grader.example/", [address])
    with pytest.raises(AddressRefused):  # one public address beside it does not help
        target("https://grader.example/", ["93.184.216.34", address])


def test_neighbours_of_this_machine_are_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    network = ipaddress.ip_network("93.184.216.0/24")
    monkeypatch.setattr("reinforge.net.outbound.connected", lambda: [network])
    with pytest.raises(AddressRefused):
        target("https://grader.example/", ["93.184.216.34"])
    assert target("https://grader.example/", ["93.184.217.34"])
    assert target("https://grader.example/", ["93.184.216.34"], "93.184.216.34")


def test_the_request_goes_to_the_address_that_was_checked() -> None:
    result = target("https://grader.example/a?b=1#c", ["93.184.216.34"])
    assert (result.url, result.host_header, result.server_name) == (
        "https://93.184.216.34:443/a?b=1", "grader.example", "grader.example",
    )  # fmt: skip
    result = target("http://grader.example:8080", ["2606:2800:220:1::1"])
    assert (result.url, result.host_header) == ("http://[2606:2800:220:1::1]:8080/", "grader.example:8080")


@pytest.mark.parametrize("allow", ["grader.example", "10.0.0.0/8", "10.1.2.3", "other,GRADER.example"])
def test_an_administrator_may_allow_an_inner_address(allow: str) -> None:
    assert target("http://grader.example/", ["10.1.2.3"], allow).url == "http://10.1.2.3:80/"


def test_a_setting_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match="neither a host name nor a network"):
        Guard.allowing("10.0.0.0/99")


def test_signatures_are_those_of_the_standard() -> None:
    # The vector in the tests of the Standard Webhooks reference libraries.
    headers = signed_headers(
        SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', timestamp=1614265330
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    body = b'{"test": 2432232314}'
    assert verify(SECRET, headers, body, now=1614265331)
    assert not verify(SECRET, headers, body, now=1614265330 + 600)
    assert not verify("whsec_AAAA", headers, body, now=1614265331)
    assert verify(
        SECRET,
        headers | {"webhook-signature": f"v1,other {headers['webhook-signature']}"},
        body,
        now=1614265331,
    )
