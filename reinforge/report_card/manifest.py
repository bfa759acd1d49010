"""Signed manifests of report cards: the files' hashes, the job and the key of the installation."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping

from reinforge.errors import InvalidInput
from reinforge.schemas.report_card import CardManifest, CardSubject


def manifest_of(
    subject: CardSubject, files: Mapping[str, bytes], public_key: bytes, sign: Callable[[bytes], bytes]
) -> CardManifest:
    manifest = CardManifest(
        subject=subject,
        files={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        public_key=base64.b64encode(public_key).decode(),
        signature="",
    )
    manifest.signature = base64.b64encode(sign(signed_bytes(manifest))).decode()
    return manifest


def signed_bytes(manifest: CardManifest) -> bytes:
    document = manifest.model_dump(mode="json", exclude={"signature"})
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def verify(manifest: CardManifest, files: Mapping[str, bytes], *, public_key: str | None = None) -> None:
    """Check the signature and the files. public_key: key that the manifest has to contain; None: any.

    Raises InvalidInput `wrong_signature`, `file_changed`, `cryptography_missing`.
    """
    if public_key is not None and public_key != manifest.public_key:
        raise InvalidInput(
            "The manifest was signed by another installation.",
            code="wrong_signature",
            hint=f"The manifest's key is {manifest.public_key}, the installation's is {public_key}.",
        )
    _verify_signature(manifest)
    for name, content in files.items():
        if manifest.files.get(name) != hashlib.sha256(content).hexdigest():
            raise InvalidInput(
                f"{name} is not the file that was signed.",
                code="file_changed",
                hint="Write the card again, all files at once.",
            )


def _verify_signature(manifest: CardManifest) -> None:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise InvalidInput(
            "Verifying a signature needs the package cryptography, which is not installed.",
            code="cryptography_missing",
            hint="pip install cryptography",
        ) from error
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(manifest.public_key, validate=True))
        key.verify(base64.b64decode(manifest.signature, validate=True), signed_bytes(manifest))
    except (InvalidSignature, ValueError, binascii.Error) as error:
        raise InvalidInput(
            "The manifest's signature is invalid: the manifest was changed after it was signed.",
            code="wrong_signature",
        ) from error
