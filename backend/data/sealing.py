"""Secrets at rest: encrypted with a key that is not in the database.

The key comes from REINFORGE_SECRET_KEY or, without it, from `secret-key` in the home folder, made at first use. Fernet:
AES-128-CBC with HMAC-SHA-256; the label goes into the key, so that what was sealed for one use opens for no other.
"""

import base64
import hashlib
import hmac
from typing import Annotated

from cryptography.fernet import Fernet, InvalidToken
from fastapi import Depends, Request

from backend.settings import Settings
from reinforge.errors import Unavailable
from reinforge.platform.places import keep_secret


class Sealer:
    """Made once per process."""

    def __init__(self, settings: Settings) -> None:
        given = settings.secret_key
        self._master = given.get_secret_value() if given else keep_secret(settings.home_folder / "secret-key")

    def seal(self, label: str, secret: str) -> str:
        return self._box(label).encrypt(secret.encode()).decode()

    def open(self, label: str, sealed: str) -> str:
        """Raises Unavailable `secret_unreadable`."""
        try:
            return self._box(label).decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise Unavailable(
                "A stored secret cannot be read with this server's secret key.",
                code="secret_unreadable",
                hint="Set REINFORGE_SECRET_KEY to what it was, or store the key of the judge again.",
            ) from error

    def derived(self, label: str) -> bytes:
        """32 bytes that are the same whenever it is asked: secrets that need no row."""
        return hmac.new(self._master.encode(), label.encode(), hashlib.sha256).digest()

    def _box(self, label: str) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(self.derived(f"seal:{label}")))


def get_sealer(request: Request) -> Sealer:
    sealer: Sealer = request.app.state.sealer
    return sealer


SealerDep = Annotated[Sealer, Depends(get_sealer)]
