"""Addresses of a sandbox: a Unix socket or TCP port."""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    path: str | None = None
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse ``/path``, ``unix:///path`` or ``tcp://host:port``; raises ``ValueError``."""
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
