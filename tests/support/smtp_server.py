"""SMTP server of tests: speaks the protocol over a socket, with STARTTLS and AUTH; keeps what it accepts."""

import asyncio
import base64
import datetime
import ipaddress
import ssl
import threading
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate(folder: Path, host: str = "mail.test") -> tuple[Path, Path]:
    """Certificate of 127.0.0.1 and a name, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    names = x509.SubjectAlternativeName([address, x509.DNSName(host)])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    return paths


@dataclass
class Envelope:
    sender: str
    recipients: list[str]
    raw: bytes
    encrypted: bool
    user: str | None

    @property
    def message(self) -> EmailMessage:
        parsed = message_from_bytes(self.raw, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed


@dataclass
class SmtpServer:
    """`replies`: answers to the next messages after DATA, instead of 250."""

    tls: ssl.SSLContext | None = None
    credentials: tuple[str, str] | None = None
    replies: list[str] = field(default_factory=list)
    mails: list[Envelope] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> "SmtpServer":
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Session(self, reader, writer).run()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()


class _Session:
    def __init__(
        self, server: SmtpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.encrypted, self.user = False, None
        self.sender, self.recipients = "", []

    encrypted: bool
    user: str | None
    sender: str
    recipients: list[str]

    def reply(self, *lines: str) -> None:
        code = lines[-1][:3]
        for line in lines[:-1]:
            self.writer.write(f"{code}-{line}\r\n".encode())
        self.writer.write(f"{lines[-1]}\r\n".encode())

    async def run(self) -> None:
        self.reply("220 mail.test ready")
        while line := await self.reader.readline():
            text = line.decode().strip()
            verb = text.split(" ")[0].upper()
            self.server.commands.append(verb)
            if verb == "QUIT":
                self.reply("221 bye")
                return
            await self.answer(verb, text)

    async def answer(self, verb: str, text: str) -> None:
        if verb == "EHLO":
            features = ["STARTTLS"] if self.server.tls and not self.encrypted else []
            features += ["AUTH PLAIN"] if self.server.credentials and self.encrypted else []
            self.reply("mail.test", *features, "250 SIZE 1000000")
        elif verb == "STARTTLS" and self.server.tls:
            self.reply("220 go ahead")
            await self.writer.start_tls(self.server.tls)
            self.encrypted = True
        elif verb == "AUTH":
            _, user, password = base64.b64decode(text.split(" ")[2]).decode().split("\0")
            right = (user, password) == self.server.credentials
            self.user = user if right else None
            self.reply("235 ok" if right else "535 wrong user name or password")
        elif verb == "MAIL" and self.server.credentials and self.user is None:
            self.reply("530 authentication needed")
        elif verb == "MAIL":
            self.sender, self.recipients = text, []
            self.reply("250 ok")
        elif verb == "RCPT":
            self.recipients.append(text)
            self.reply("550 no such user" if "<nobody@" in text else "250 ok")
        elif verb == "DATA":
            await self.data()
        else:
            self.reply("250 ok")

    async def data(self) -> None:
        self.reply("354 end with .")
        raw = (await self.reader.readuntil(b"\r\n.\r\n"))[:-3].replace(b"\r\n..", b"\r\n.")
        if self.server.replies:
            self.reply(self.server.replies.pop(0))
            return
        envelope = Envelope(self.sender, self.recipients, raw, self.encrypted, self.user)
        self.server.mails.append(envelope)
        self.reply("250 accepted")
