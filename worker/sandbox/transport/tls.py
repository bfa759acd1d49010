"""Mutual TLS 1.3 for TCP connections to a sandbox on another machine.

Both ends hold the same key file (PEM): a private key and its certificate. Each presents that certificate and accepts
no other. After the handshake:

    client → daemon   8 random bytes that identify the client's process
    daemon → client   GREETING: the client is accepted
    both              frames (see `frames`)
"""

import os
import secrets
import socket
import ssl
import subprocess
import time
from pathlib import Path

GREETING = b"reinforge-sandboxd-3\n"
PROCESS_BYTES = 8
OWN_PROCESS = secrets.token_bytes(PROCESS_BYTES)
HANDSHAKE_SECONDS = 10.0
FRAME_SECONDS = 60.0
LOST_PEER_SECONDS = 30

_DAYS = 3650
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_RENEW = (
    "Delete the key file on the sandbox's machine, restart the sandbox, and copy the new file to its clients"
)
_NOT_YET_VALID, _EXPIRED = 9, 10
NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "PACKET_LENGTH_TOO_LONG"}


class TlsError(ConnectionError):
    pass


class KeyFile:
    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="ascii", errors="replace")
        begin, end = text.find(_BEGIN), text.find(_END)
        if begin < 0 or end < begin or "PRIVATE KEY-----" not in text:
            raise ValueError(
                f"{path} is not a key file of the sandbox: it needs a private key and a certificate"
            )
        self._path = path
        try:
            self._certificate = ssl.PEM_cert_to_DER_cert(text[begin : end + len(_END)])
            self.client_context = self._context(ssl.PROTOCOL_TLS_CLIENT)
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(f"{path} is not a key file of the sandbox: {error}") from error
        for certificate in self.client_context.get_ca_certs():
            end_date = str(certificate["notAfter"])
            if ssl.cert_time_to_seconds(end_date) < time.time():
                raise ValueError(f"the certificate in {path} expired on {end_date}. {_RENEW}")

    @classmethod
    def create_if_missing(cls, path: Path) -> "KeyFile":
        if not path.exists():
            _create(path)
        return cls(path)

    def server_context(self) -> ssl.SSLContext:
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        context.num_tickets = 0  # no resumption: each connection proves the key again
        return context

    def check_peer(self, peer: ssl.SSLObject | ssl.SSLSocket) -> None:
        """Check that the peer has exactly this certificate, not one issued with its key. Raises TlsError."""
        if peer.getpeercert(binary_form=True) != self._certificate:
            raise TlsError(_OTHER_CERTIFICATE)

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # the certificate itself is pinned
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        # Only the first certificate: a chain's issuer would vouch for others.
        context.load_verify_locations(cadata=self._certificate)
        context.load_cert_chain(self._path, password=_no_password)
        return context


_OTHER_CERTIFICATE = (
    "its certificate is not the one in the key file. Either the sandbox has a new key file: copy it to this machine "
    "(SANDBOX_KEY_FILE). Or something else listens there: check the address and the network between"
)


def explain(error: OSError | EOFError) -> TlsError:
    if isinstance(error, TlsError):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == _EXPIRED:
            return TlsError(f"the sandbox's certificate has expired. {_RENEW}")
        if error.verify_code == _NOT_YET_VALID:
            return TlsError("the sandbox's certificate is not valid yet. Set the clocks of both machines")
        return TlsError(_OTHER_CERTIFICATE)
    if isinstance(error, TimeoutError):
        return TlsError(
            f"the TLS handshake took longer than {HANDSHAKE_SECONDS:g} s. Check that the sandbox runs, and the "
            "address, tunnel and firewall"
        )
    reason = getattr(error, "reason", None) or ""
    if reason in NO_TLS:
        return TlsError(
            "the server does not use TLS. Check the address; if it is a sandbox of version 0.2 or older, "
            "update it"
        )
    if (
        isinstance(error, (EOFError, ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError))
        or "ALERT" in reason
    ):
        return TlsError(
            "the connection was closed during the TLS handshake. Check that the sandbox runs and has the same key "
            "file and version; its log gives the reason if it refused this machine"
        )
    return TlsError(f"the TLS handshake failed: {error}")


def keep_alive(connection: socket.socket) -> None:
    """Detect a lost peer within 30 s; send small frames at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    options = {
        "TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": LOST_PEER_SECONDS * 1000,
    }  # fmt: skip
    for name, value in options.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _create(path: Path) -> None:
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
    command += ["-days", str(_DAYS), "-subj", "/CN=reinforge-sandbox", "-keyout", "-", "-out", "-"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise OSError(f"the program openssl is needed to create {path}: install it") from error
    except subprocess.CalledProcessError as error:
        raise OSError(
            f"openssl could not create {path}: {error.stderr.decode(errors='replace')[-500:]}"
        ) from error
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(done.stdout)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _no_password() -> str:
    raise ValueError("the private key is encrypted")
