"""Authentication and integrity of TCP connections to a sandbox on another machine.

A TCP connection begins with a challenge to both sides; the token itself is never sent:

    daemon → client   greeting, 32 random bytes
    client → daemon   32 random bytes, 8 of its process, HMAC(token, "client", all of these)
    daemon → client   HMAC(token, "daemon", the same)

Then every frame is followed by an HMAC under a key of this connection and direction, over its number and contents: a
frame that was changed, repeated, left out or put in ends the connection. Contents are **not** encrypted: prompts and
completions can be read on the way. Where the network is not trusted, lay the connection through WireGuard, SSH or
another tunnel. A daemon that is impersonated learns an HMAC of the token, so the token has to be long and random.
"""

import hashlib
import hmac
import secrets
import socket
import struct
from dataclasses import dataclass
from urllib.parse import urlsplit

GREETING = b"reinforge-sandboxd-2\n"
NONCE, PROCESS, TAG = 32, 8, 32
HANDSHAKE_SECONDS = 10.0
FRAME_SECONDS = 60.0
"""A started frame must arrive completely within this time."""
TOKEN_CHARACTERS = 32
"""Least length: shorter tokens could be brute-forced from a recorded challenge."""

_OWN_PROCESS = secrets.token_bytes(PROCESS)
_NUMBER = struct.Struct("<Q")


class RemoteError(ConnectionError):
    """The peer does not hold the token, or a frame was tampered with."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a sandbox listens: a Unix socket's ``path``, or ``host`` and ``port``."""

    path: str | None = None
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> "Address":
        """``/path``, ``unix:///path`` or ``tcp://host:port``; raises ``ValueError``."""
        if "://" not in text:
            return cls(path=text)
        parts = urlsplit(text)
        if parts.scheme == "unix" and parts.path and not parts.netloc:
            return cls(path=parts.path)
        if parts.scheme != "tcp" or not parts.hostname or not parts.port or parts.path or parts.username:
            raise ValueError(f"a sandbox's address is unix:///path or tcp://host:port, not {text!r}")
        return cls(host=parts.hostname, port=parts.port)

    def __str__(self) -> str:
        if self.path is not None:
            return self.path
        return f"tcp://[{self.host}]:{self.port}" if ":" in self.host else f"tcp://{self.host}:{self.port}"


def checked_token(token: str) -> str:
    """The token without surrounding white space; raises ``ValueError`` for one that could be guessed."""
    token = token.strip()
    if len(token) < TOKEN_CHARACTERS:
        raise ValueError(
            f"the sandbox's token needs at least {TOKEN_CHARACTERS} characters: `openssl rand -hex 32` makes one"
        )
    return token


class Seal:
    """HMAC tags of one direction's frames."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0

    def tag(self, *pieces: bytes) -> bytes:
        """The next frame's tag."""
        mac = hmac.new(self._key, _NUMBER.pack(self._number), hashlib.sha256)
        self._number += 1
        for piece in pieces:
            mac.update(piece)
        return mac.digest()

    def check(self, tag: bytes, *pieces: bytes) -> None:
        if not hmac.compare_digest(tag, self.tag(*pieces)):
            raise RemoteError("a frame was changed on its way")


class Challenge:
    """What both sides know once the nonces are exchanged."""

    def __init__(self, token: str, daemon_nonce: bytes, client_nonce: bytes, process: bytes) -> None:
        self._token = token.encode()
        self._seen = daemon_nonce + client_nonce + process

    def proof(self, side: str) -> bytes:
        """Proof that ``side`` (``client`` or ``daemon``) holds the token."""
        return hmac.digest(self._token, f"proof of the {side}\n".encode() + self._seen, "sha256")

    def seal(self, side: str) -> Seal:
        """For the frames that ``side`` sends."""
        return Seal(hmac.digest(self._token, f"frames of the {side}\n".encode() + self._seen, "sha256"))


def introduce(token: str, greeting: bytes) -> tuple[Challenge, bytes]:
    """The client's part: from the daemon's greeting, the challenge and the reply."""
    if not greeting.startswith(GREETING):
        raise RemoteError("what listens there is no sandbox daemon of this version")
    nonce = secrets.token_bytes(NONCE)
    challenge = Challenge(token, greeting[len(GREETING) :], nonce, _OWN_PROCESS)
    return challenge, nonce + _OWN_PROCESS + challenge.proof("client")


def admit(token: str, daemon_nonce: bytes, answer: bytes) -> tuple[Challenge, bytes]:
    """The daemon's part: the challenge and the peer's process; raises :class:`RemoteError` for a wrong token."""
    nonce, process, proof = answer[:NONCE], answer[NONCE : NONCE + PROCESS], answer[NONCE + PROCESS :]
    challenge = Challenge(token, daemon_nonce, nonce, process)
    if not hmac.compare_digest(proof, challenge.proof("client")):
        raise RemoteError("a peer does not hold the token")
    return challenge, process


GREETING_BYTES = len(GREETING) + NONCE
ANSWER_BYTES = NONCE + PROCESS + TAG


def keep_alive(connection: socket.socket) -> None:
    """Detect a lost peer within 30 s; send small frames at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
