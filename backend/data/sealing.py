"""Encryption of stored secrets (Fernet) with REINFORGE_SECRET_KEY or `secret-key` in the home folder."""

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
    def __init__(self, settings: Settings) -> None:
        configured = settings.secret_key
        self._master = (
            configured.get_secret_value() if configured else keep_secret(settings.home_folder / "secret-key")
        )

    def seal(self, label: str, secret: str) -> str:
        return self._box(label).encrypt(secret.encode()).decode()

    def open(self, label: str, sealed: str) -> str:
        try:
            return self._box(label).decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise Unavailable(
                "A stored secret cannot be read with this server's secret key.",
                code="secret_unreadable",
                hint="Set REINFORGE_SECRET_KEY to its former value, or store the secret again.",
            ) from error

    def derived(self, label: str) -> bytes:
        return hmac.new(self._master.encode(), label.encode(), hashlib.sha256).digest()

    def _box(self, label: str) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(self.derived(f"seal:{label}")))


async def get_sealer(request: Request) -> Sealer:
    sealer: Sealer = request.app.state.sealer
    return sealer


SealerDep = Annotated[Sealer, Depends(get_sealer)]
