"""Peers on the way to a sandbox: a relay that records, changes and cuts, and key files that are wrong."""

import contextlib
import datetime
import socket
import threading
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def write_key_file(
    path: Path, *, starts: int = -1, ends: int = 1, ca: bool = True, issuer: Path | None = None
) -> Path:
    """A key file that is valid from ``starts`` to ``ends`` days from now, self-signed or issued with another."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = key
    if issuer is not None:
        loaded = serialization.load_pem_private_key(issuer.read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signer = loaded
    subject = _name("reinforge-sandbox" if issuer is None else "issued")  # else it would count as self-signed
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(
            _name("reinforge-sandbox"), subject, key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now + starts * _DAY)
        .not_valid_after(now + ends * _DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Relay:
    """Passes bytes on to a daemon and records them, until it cuts the connections or changes bytes."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = port
        self.flip = False
        """Change the last byte of everything that passes."""
        self.to_daemon, self.to_client = bytearray(), bytearray()
        self.connections = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def cut(self) -> None:
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        for connection in (*self._sockets, self._listener):
            connection.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                far = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [near, far]
                for source, target, record in ((near, far, self.to_daemon), (far, near, self.to_client)):
                    threading.Thread(target=self._pass_on, args=(source, target, record), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, record: bytearray) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                record += data
                target.sendall(data[:-1] + bytes([data[-1] ^ 1]) if self.flip else data)
            target.shutdown(socket.SHUT_WR)


def tls_records(data: bytes) -> list[tuple[int, bytes]]:
    """Type and contents of the TLS records that a direction of a connection consists of; the last may be cut."""
    records, position = [], 0
    while position < len(data):
        kind, major, size = (
            data[position],
            data[position + 1],
            int.from_bytes(data[position + 3 : position + 5]),
        )
        assert kind in (20, 21, 22, 23) and major == 3, f"no TLS record at byte {position}"
        records.append((kind, data[position + 5 : position + 5 + size]))
        position += 5 + size
    return records
