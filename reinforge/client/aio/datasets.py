"""Datasets."""

# Made from reinforge/client/datasets.py by scripts/async_client.py: change that one.

import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.schemas.resources import Dataset, DatasetRows


class AsyncDatasets:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def push(self, path: str | Path, *, name: str | None = None, reuse: bool = True) -> Dataset:
        """Upload JSONL, CSV or Parquet. With `reuse`, equal content of the same name is found, not sent twice."""
        path = Path(path)
        name = name or path.name
        if reuse:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            async for known in self.list():
                if known.sha256 == sha256 and known.name == name:
                    return known
        with path.open("rb") as file:
            files = {"file": (path.name, file, "application/octet-stream")}
            answer = await self._transport.request(
                "POST", "/datasets", files=files, data={"name": name}, timeout=600.0
            )
        return Dataset.model_validate(answer.json())

    def list(self) -> AsyncIterator[Dataset]:
        return iterate(self._transport, "/datasets", Dataset)

    async def get(self, id: str) -> Dataset:
        return Dataset.model_validate(await self._transport.get(f"/datasets/{id}"))

    async def rows(self, id: str, *, offset: int = 0, limit: int = 20) -> Sequence[dict[str, Any]]:
        return DatasetRows.model_validate(
            await self._transport.get(f"/datasets/{id}/rows", offset=offset, limit=limit)
        ).data

    async def delete(self, id: str) -> None:
        await self._transport.request("DELETE", f"/datasets/{id}")
