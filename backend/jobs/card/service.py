"""Builds report cards: reads the database, then computes statistics and documents in a thread."""

import base64
from functools import partial

import anyio.to_thread
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.sealing import Sealer
from backend.jobs.card.content import inputs_of
from backend.jobs.card.document import document
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.models import Job
from reinforge.report_card import conditions
from reinforge.report_card.build import build
from reinforge.report_card.manifest import manifest_of
from reinforge.report_card.markdown import markdown
from reinforge.schemas.report_card import CardFormat, ReportCard

MEDIA_TYPES: dict[CardFormat, str] = {
    "json": "application/json",
    "html": "text/html",
    "md": "text/markdown",
    "manifest": "application/json",
}
_KEY = "report-card"


async def card_of(
    session: AsyncSession,
    cache: ObjectCache,
    job: Job,
    *,
    step: int | None = None,
    slice_column: str | None = None,
    require: str | None = None,
    gpu_hour_price: float | None = None,
) -> ReportCard:
    if require is not None:
        conditions.parse(require, texts=2)
    inputs = await inputs_of(
        session, cache, job, step=step, slice_column=slice_column, gpu_hour_price=gpu_hour_price
    )
    return await anyio.to_thread.run_sync(partial(build, inputs, require=require))


def rendered(card: ReportCard, format: CardFormat, sealer: Sealer) -> bytes:
    match format:
        case "json":
            return orjson.dumps(card.model_dump(mode="json"), option=orjson.OPT_INDENT_2)
        case "html":
            return document(card).encode()
        case "md":
            return markdown(card).encode()
        case "manifest":
            return _manifest(card, sealer)


def _manifest(card: ReportCard, sealer: Sealer) -> bytes:
    formats: dict[str, CardFormat] = {"card.json": "json", "card.md": "md", "card.html": "html"}
    files = {name: rendered(card, format, sealer) for name, format in formats.items()}
    key = signing_key(sealer)
    public_key = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    manifest = manifest_of(card.subject, files, public_key, key.sign)
    return orjson.dumps(manifest.model_dump(mode="json"), option=orjson.OPT_INDENT_2)


def signing_key(sealer: Sealer) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(sealer.derived(_KEY))


def public_key_text(sealer: Sealer) -> str:
    raw = signing_key(sealer).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return base64.b64encode(raw).decode()
