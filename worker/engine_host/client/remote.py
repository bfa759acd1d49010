"""Engine hosts on other machines, by URL and token over TLS."""

import ssl
import time
from dataclasses import dataclass

import httpx

from reinforge.errors import JobFailure
from worker.engine_host.address import HostAddress
from worker.engine_host.protocol import PROTOCOL, HostFacts, HostLease, LeaseRequest
from worker.machine import settings
from worker.machine.sampler_url import check_sampler_url
from worker.machine.vllm_python import VERSION

PATIENCE_SECONDS = 10.0
_PAUSE_SECONDS = 0.5
_RESUME = "Then resume the job."


class SamplerHostFailure(JobFailure):
    """An engine host that a job cannot use; `param` is the variable at fault."""

    def __init__(self, message: str, code: str, param: str, hint: str) -> None:
        super().__init__(f"{param}: {message}", code=code, hint=f"{hint} {_RESUME}", retryable=True)
        self.param = param


@dataclass(frozen=True, slots=True)
class RemoteHost:
    address: HostAddress
    model_sha256: str
    dtype: str
    longest: int
    """Most tokens of a row that the client needs."""
    rank: int
    patience_seconds: float | None = None

    @property
    def name(self) -> str:
        return f"the engine host {self.address.url}"

    def open(self) -> tuple[HostAddress, HostLease]:
        check_facts(self.address, host_facts(self.address, self.patience_seconds), self.model_sha256)
        lease_request = LeaseRequest(
            protocol=PROTOCOL,
            model_sha256=self.model_sha256,
            dtype=self.dtype,
            longest=self.longest,
            rank=self.rank,
        )
        answer = _answer(
            self.address, "POST", "/v1/leases", self.patience_seconds, lease_request.model_dump_json()
        )
        return self.address, HostLease.model_validate_json(answer.content)


def remote_addresses() -> list[HostAddress]:
    """Addresses in REINFORGE_SAMPLER_URLS. Raises SamplerHostFailure `invalid_setting`."""
    urls = settings.sampler_urls()
    for url in urls:
        try:
            check_sampler_url(url)
        except ValueError as error:
            raise _invalid(settings.SAMPLER_URLS, str(error), "Correct it on the worker.") from error
    if not urls:
        return []
    token, tls = _token(), _tls()
    return [HostAddress(url.rstrip("/"), token=token, tls=tls) for url in urls]


def check_hosts(model_sha256: str | None) -> str | None:
    """vLLM's version of the hosts in REINFORGE_SAMPLER_URLS; None if there are none. Raises SamplerHostFailure."""
    version = None
    for address in remote_addresses():
        facts = host_facts(address)
        check_facts(address, facts, model_sha256)
        version = version or facts.vllm
    return version


def host_facts(address: HostAddress, patience: float | None = None) -> HostFacts:
    answer = _answer(address, "GET", "/v1/host", patience)
    try:
        return HostFacts.model_validate_json(answer.content)
    except ValueError as error:
        raise SamplerHostFailure(
            f"{address.url} is not an engine host of this release.",
            "sampler_host_mismatch",
            settings.SAMPLER_URLS,
            "Install the worker's release of Reinforge there and restart it, or correct the address.",
        ) from error


def check_facts(address: HostAddress, facts: HostFacts, model_sha256: str | None) -> None:
    """Raise SamplerHostFailure `sampler_host_mismatch` for a host of another version or model."""
    if facts.protocol != PROTOCOL:
        raise _mismatch(
            address, "protocol", str(facts.protocol), str(PROTOCOL), "Install the worker's release there."
        )
    if not facts.vllm.startswith(f"{VERSION}."):
        raise _mismatch(
            address, "vLLM", facts.vllm, f"{VERSION}.x", f"Install vLLM {VERSION} there (`make vllm`)."
        )
    if model_sha256 is not None and facts.model_sha256 != model_sha256:
        hint = "Start it with --model DIR for the job's base model, with the same files."
        raise _mismatch(address, "model", facts.model_sha256[:12] + "…", model_sha256[:12] + "…", hint)


def _answer(
    address: HostAddress, method: str, path: str, patience: float | None, content: str | None = None
) -> httpx.Response:
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    with address.client() as client:
        while True:
            try:
                answer = client.request(method, path, content=content)
                break
            except httpx.HTTPError as error:
                if (refusal := _tls_refusal(address, error)) is not None:
                    raise refusal from error
                if time.monotonic() > deadline:
                    raise SamplerHostFailure(
                        f"{address.url} does not answer: {error or type(error).__name__}.",
                        "sampler_host_unreachable",
                        settings.SAMPLER_URLS,
                        "Check that the engine host runs, its address, and the network between.",
                    ) from error
                time.sleep(_PAUSE_SECONDS)
    if not answer.is_success:
        raise _refused(address, answer)
    return answer


def _tls_refusal(address: HostAddress, error: BaseException) -> SamplerHostFailure | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if cause is None and "SSL" not in str(error):
        return None
    return SamplerHostFailure(
        f"the TLS certificate of {address.url} is not accepted: {cause or error}.",
        "sampler_host_untrusted",
        settings.SAMPLER_CA,
        "Set it to the certificate (PEM) of the authority that issued the host's, and use the name in that one.",
    )


def _refused(address: HostAddress, answer: httpx.Response) -> SamplerHostFailure:
    if answer.status_code == 401:
        return SamplerHostFailure(
            f"{address.url} does not accept the token.",
            "sampler_token_refused",
            settings.SAMPLER_TOKEN,
            "Give the worker the token in the file that the engine host was started with.",
        )
    try:
        error = answer.json()["error"]
        code, message = str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        code, message = "sampler_host_mismatch", f"status {answer.status_code}: {answer.text[:200]}"
    hint = "Start the engine host for this job's model."
    if code == "sampler_host_too_small":
        hint = "Start the engine host with a larger --max-tokens or --max-rank."
    return SamplerHostFailure(f"{address.url} refuses the job: {message}", code, settings.SAMPLER_URLS, hint)


def _mismatch(address: HostAddress, what: str, present: str, needed: str, hint: str) -> SamplerHostFailure:
    return SamplerHostFailure(
        f"{address.url} has {what} {present}, the job needs {needed}.",
        "sampler_host_mismatch",
        settings.SAMPLER_URLS,
        hint,
    )


def _invalid(variable: str, why: str, hint: str) -> SamplerHostFailure:
    return SamplerHostFailure(why, "invalid_setting", variable, hint)


def _token() -> str:
    file, hint = settings.sampler_token_file(), "Use the token of the engine host."
    variable = settings.SAMPLER_TOKEN if file is None else settings.SAMPLER_TOKEN_FILE
    try:
        token = settings.sampler_token() if file is None else file.read_text().strip()
    except OSError as error:
        raise _invalid(variable, f"the file cannot be read: {error}", hint) from error
    if not token or not token.isascii() or not token.isprintable():
        raise _invalid(variable, "there is no token for the engine hosts.", hint)
    return token


def _tls() -> ssl.SSLContext:
    authority = settings.sampler_ca()
    try:
        return ssl.create_default_context(cafile=None if authority is None else str(authority))
    except (OSError, ssl.SSLError) as error:
        raise _invalid(
            settings.SAMPLER_CA, f"{authority} is no certificate: {error}", "Give a PEM file."
        ) from error
