"""Tokens in links of e-mails that confirm an address or unsubscribe. They are sealed with the server's secret
key, not stored.
"""

import json
import time

from backend.data.sealing import Sealer
from reinforge.errors import NotFound, Unavailable

CONFIRMATION_SECONDS = 24 * 3600


def confirmation(sealer: Sealer, user_id: str, address: str, issued_at: float) -> str:
    return sealer.seal("mail:confirm", json.dumps([user_id, address, issued_at]))


def confirmed(sealer: Sealer, token: str) -> tuple[str, str]:
    user_id, address, issued_at = json.loads(_open(sealer, "mail:confirm", token))
    if issued_at + CONFIRMATION_SECONDS < time.time():
        raise not_valid()
    return user_id, address


def unsubscription(sealer: Sealer, member_id: str) -> str:
    return sealer.seal("mail:unsubscribe", member_id)


def unsubscribed(sealer: Sealer, token: str) -> str:
    return _open(sealer, "mail:unsubscribe", token)


def _open(sealer: Sealer, label: str, token: str) -> str:
    try:
        return sealer.open(label, token)
    except (Unavailable, ValueError) as error:
        raise not_valid() from error


def not_valid() -> NotFound:
    return NotFound(
        "This link is not valid: it has expired or is incomplete.",
        code="mail_link_invalid",
        hint="Ask for a new one in the settings.",
    )
