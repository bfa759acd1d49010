"""Addresses of judges: the address that is called is the one that was checked."""

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from reinforge.net.outbound import Guard
from tests.support.judge_stub import Stub, judged
from tests.worker.rewards.test_endpoint import INSIDE
from tests.worker.rewards.test_judge import SCORE, rated, rows, services
from worker.rewards.base import RewardResult

NAME = "judge.example"  # no name server knows it


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def answering(*answers: Sequence[str], allow: str = "") -> Guard:
    """A guard whose name server gives these answers one after the other, the last one for ever."""
    left = list(answers)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    allowed = Guard.allowing(allow)
    return Guard(allowed.names, allowed.networks, resolve)


def named(stub: Stub, scheme: str = "http") -> str:
    return f"{scheme}://{NAME}:{urlsplit(stub.url).port}/v1"


def call_judge(
    stub: Stub, guard: Guard, *texts: str, url: str | None = None, **more: Any
) -> list[RewardResult]:
    with services(stub, guard=guard, base_url=url or named(stub), **more) as made:
        return [result for text in texts or ("hello",) for result in rated(made, SCORE, rows(text))]


def test_a_judge_inside_the_network_is_not_called_and_the_error_names_the_setting() -> None:
    with Stub(lambda *_: judged(7)) as stub:
        (result,) = call_judge(stub, Guard(), url=stub.url)
        assert stub.requests == []
    assert (result.status, result.code, result.value) == ("judge_error", "judge_not_allowed", None)
    assert "by adding 127.0.0.1 to REINFORGE_ALLOW_HOSTS" in (result.message or "")


@pytest.mark.parametrize("address", INSIDE)
def test_no_inner_address_is_called_under_a_name(address: str) -> None:
    with Stub(lambda *_: judged(7)) as stub:
        (result,) = call_judge(stub, answering(["93.184.216.34", address]))
        assert (result.code, result.value) == ("judge_not_allowed", None)


@pytest.mark.parametrize("allow", ["127.0.0.1", "127.0.0.0/8", f"other,{NAME}"])
def test_whoever_runs_the_platform_may_allow_it(allow: str) -> None:
    with Stub(lambda *_: judged(7)) as stub:
        (result,) = call_judge(stub, answering(["127.0.0.1"], allow=allow))
        assert (result.status, result.value) == ("ok", 7.0)
        # The system's name server does not know the name: the request went to the address that was checked.
        assert stub.requests[0].headers["host"] == f"{NAME}:{urlsplit(stub.url).port}"


def test_only_the_checked_address_of_a_name_is_called() -> None:
    guard = answering(["127.0.0.1"], ["10.0.0.1"], allow="127.0.0.1")
    with Stub(lambda *_: judged(7)) as stub:
        first, second = call_judge(stub, guard, "one", "two")
        assert len(stub.requests) == 1
    assert (first.value, second.code) == (7.0, "judge_not_allowed")


def test_redirects_lead_nowhere() -> None:
    with Stub(lambda *_: judged(7)) as elsewhere, Stub(lambda *_: judged(7)) as stub:
        reply = judged(7)
        reply.status, reply.headers = 307, {"location": elsewhere.url + "/v1/chat/completions"}
        stub.behave = lambda *_: reply
        (result,) = call_judge(stub, answering(["127.0.0.1"], allow="127.0.0.1"))
        assert elsewhere.requests == []
    assert result.status == "judge_error"


def test_after_a_refused_connection_the_next_checked_address_is_called() -> None:
    """`localhost` is two addresses, and most servers listen at one of them."""
    with Stub(lambda *_: judged(7)) as stub:
        (result,) = call_judge(stub, answering(["127.0.0.9", "127.0.0.1"], allow=NAME), retries=0)
        assert (result.value, len(stub.requests)) == (7.0, 1)


def test_a_name_without_an_address_is_tried_again() -> None:
    guard = answering([], ["127.0.0.1"], allow="127.0.0.1")
    with Stub(lambda *_: judged(7)) as stub:
        assert call_judge(stub, guard)[0].value == 7.0
        assert call_judge(stub, answering([]), retries=1)[0].code == "judge_unreachable"


def test_the_judges_of_ones_own_job_file_may_be_anywhere() -> None:
    with Stub(lambda *_: judged(7)) as stub:
        assert call_judge(stub, Guard(), url=stub.url, own=True)[0].value == 7.0


class TestProxy:
    """The stub plays the proxy: requests for `http://` arrive there with their whole address."""

    def test_a_name_that_is_allowed_goes_through_it_and_others_do_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Stub(lambda *_: judged(7)) as stub:
            monkeypatch.setenv("http_proxy", stub.url.replace("//", "//me:hidden@"))
            (refused,) = call_judge(stub, answering(["93.184.216.34"]))
            assert stub.requests == []
            assert refused.code == "judge_not_allowed"
            assert f"by adding {NAME} to REINFORGE_ALLOW_HOSTS" in (refused.message or "")
            assert "hidden" not in (refused.message or "")
            assert call_judge(stub, answering([], allow=NAME))[0].value == 7.0
            assert stub.requests[0].path == f"{named(stub)}/chat/completions"

    def test_no_inner_address_goes_through_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Stub(lambda *_: judged(7)) as stub:
            monkeypatch.setenv("http_proxy", stub.url)
            (result,) = call_judge(stub, Guard(), url="http://10.0.0.1/v1")
            assert (result.code, stub.requests) == ("judge_not_allowed", [])
            assert call_judge(stub, Guard(), url="http://93.184.216.34/v1")[0].value == 7.0

    def test_without_a_proxy_the_checked_address_is_called(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        monkeypatch.setenv("no_proxy", NAME)
        with Stub(lambda *_: judged(7)) as stub:
            assert call_judge(stub, answering(["127.0.0.1"], allow="127.0.0.1"))[0].value == 7.0


@pytest.mark.parametrize(("certified", "value"), [(NAME, 7.0), ("other.example", None)])
def test_the_certificate_has_to_be_the_names(
    certified: str, value: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(certified, tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    stub = Stub(lambda *_: judged(7))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    stub._server.socket = context.wrap_socket(stub._server.socket, server_side=True)
    with stub:
        guard = answering(["127.0.0.1"], allow="127.0.0.1")
        assert call_judge(stub, guard, url=named(stub, "https"), retries=0)[0].value == value


def self_signed(name: str, folder: Path) -> tuple[Path, Path]:
    """A certificate for a name, and for the address that is called, which must not count; and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName(
        [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return certificate, private
