"""Uploads of PEFT adapters: packed as one archive, checked by a worker, stored as a row."""

import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.data.ids import new_id
from backend.models import Adapter, BaseModel
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedAdapterInspection
from reinforge.base_models.adapter_config import CONFIG, WEIGHTS, LoraShape
from reinforge.errors import InvalidInput
from reinforge.schemas.rpc.adapters import INSPECT_ADAPTER
from reinforge.schemas.rpc.sampling import AdapterArchive
from reinforge.storage.base import disk_error, scratch_file

CHECK_SECONDS = 120.0
LONGEST_NAME = 200


@dataclass(frozen=True)
class Archive:
    path: Path
    sha256: str
    bytes: int


def name_of(fields: Mapping[str, str]) -> str:
    name = fields.get("name") or "Uploaded adapter"
    if len(name) > LONGEST_NAME:
        raise InvalidInput(
            f"`name` is longer than {LONGEST_NAME} characters.", code="name_too_long", param="name"
        )
    return name


@asynccontextmanager
async def archive(weights: Path, lora: LoraShape, folder: Path) -> AsyncIterator[Archive]:
    """Pack a PEFT adapter as an uncompressed tar. Its configuration holds only the checked settings."""
    with scratch_file(folder, "upload-") as file:
        yield await anyio.to_thread.run_sync(_write, file, weights, lora)


def _write(file: IO[bytes], weights: Path, lora: LoraShape) -> Archive:
    config = json.dumps(lora.as_config(), indent=2, sort_keys=True).encode() + b"\n"
    try:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            tar.addfile(_member(CONFIG, len(config)), io.BytesIO(config))
            with weights.open("rb") as source:
                tar.addfile(_member(WEIGHTS, weights.stat().st_size), source)
        file.flush()
    except OSError as error:
        raise disk_error(error) from error
    path = Path(file.name)
    with path.open("rb") as whole:
        digest = hashlib.file_digest(whole, "sha256")
    return Archive(path, digest.hexdigest(), path.stat().st_size)


def _member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info


async def check(calls: Calls, model: BaseModel, stored: Archive) -> None:
    request = QueuedAdapterInspection(
        model_source=model.source,
        model_key=model.key,
        adapter=AdapterArchive(sha256=stored.sha256, bytes=stored.bytes),
    )
    await calls.ask(INSPECT_ADAPTER, request, timeout=CHECK_SECONDS)


async def add(
    session: AsyncSession, project_id: str, model: BaseModel, name: str, lora: LoraShape, stored: Archive
) -> Adapter:
    await base_models.get_usable(session, project_id, model.id)  # it may have been removed meanwhile
    adapter = Adapter(
        id=new_id("adp_"),
        project_id=project_id,
        name=name,
        step=0,
        model_id=model.id,
        model_key=model.key,
        model_sha256=model.sha256,
        lora=lora.as_spec(),
        sha256=stored.sha256,
        bytes=stored.bytes,
    )
    session.add(adapter)
    await session.flush()
    return adapter
