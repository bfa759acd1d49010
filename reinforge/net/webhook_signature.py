"""Signatures of webhook requests by the Standard Webhooks scheme.

    webhook-id         msg_…, the same for retries
    webhook-timestamp  Unix seconds; refuse those older than a few minutes
    webhook-signature  v1,<base64 of HMAC-SHA-256 over "id.timestamp.body">

Secrets are `whsec_<base64>`; a secret without this prefix is the key itself.
"""

import base64
import binascii
import hashlib
import hmac
import time

from reinforge.errors import InvalidInput

PREFIX = "whsec_"
TOLERANCE_SECONDS = 300.0


def signed_headers(secret: str, id: str, body: bytes, *, timestamp: float | None = None) -> dict[str, str]:
    seconds = str(int(time.time() if timestamp is None else timestamp))
    return {
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": _signature(secret, id, seconds, body),
    }


def verify(secret: str, headers: dict[str, str], body: bytes, *, now: float | None = None) -> bool:
    """Whether a request is signed with the secret and recent. Header names have to be in lower case."""
    id, seconds = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or not seconds.isdecimal():
        return False
    if abs((time.time() if now is None else now) - int(seconds)) > TOLERANCE_SECONDS:
        return False
    expected = _signature(secret, id, seconds, body)
    received = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in received)


def _signature(secret: str, id: str, seconds: str, body: bytes) -> str:
    signed = f"{id}.{seconds}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest()).decode()


def _key(secret: str) -> bytes:
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise InvalidInput(
            "The signing secret is not valid base64 after the prefix whsec_.", code="invalid_signing_secret"
        ) from error
