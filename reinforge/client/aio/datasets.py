"""Datasets: upload, read, render and report."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

from reinforge.client.aio.downloads import save
from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.aio.uploads import send
from reinforge.client.protocol import WORKER_SECONDS
from reinforge.client.shared import Progress, complete_seconds, uploaded_hashes
from reinforge.errors import Unavailable
from reinforge.schemas.dataset_reports import DatasetOverlap
from reinforge.schemas.datasets import RenderedPrompts, SplitView, TokenLengths
from reinforge.schemas.resources import Dataset, DatasetRows
from reinforge.schemas.uploads import LARGE_BYTES


class AsyncDatasets:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def push(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        reuse: bool = True,
        in_parts: bool | None = None,
        skip_bad_rows: bool = False,
        progress: Progress | None = None,
    ) -> Dataset:
        """Upload JSONL, CSV or Parquet. With `reuse`, equal content of the same name is not sent again.

        Files above 64 MiB (or any with `in_parts`) are sent in parts: after a broken connection, push again
        to send the rest. `skip_bad_rows` skips bad rows; else a file with bad rows is refused: the error's
        `faults` counts them, and its `errors` lists the first 20.
        """
        path = Path(path)
        name = name or path.name
        in_parts = path.stat().st_size > LARGE_BYTES if in_parts is None else in_parts
        if reuse or in_parts:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if reuse:
            async for dataset in self.list():
                if dataset.name == name and sha256 in uploaded_hashes(dataset, skip_bad_rows):
                    return dataset
        if in_parts:
            return await send(
                self._transport,
                path,
                name=name,
                sha256=sha256,
                skip_bad_rows=skip_bad_rows,
                progress=progress,
            )
        with path.open("rb") as file:
            files = {"file": (path.name, file, "application/octet-stream")}
            answer = await self._transport.request(
                "POST",
                "/datasets",
                files=files,
                data={"name": name} | ({"skip_bad_rows": "true"} if skip_bad_rows else {}),
                timeout=complete_seconds(path.stat().st_size),
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

    async def report(
        self,
        id: str,
        *,
        held_out: str | None = None,
        held_out_rows: int | None = None,
        seed: int = 0,
        split_by: Literal["row", "prompt"] = "row",
        timeout: float = 1800.0,
    ) -> DatasetOverlap:
        """Report duplicate prompts, and held-out prompts that are also in the training rows.

        held_out: dataset of the held-out rows; default: rows split off this one. Raises Unavailable
        `call_timeout` after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        params = {"held_out": held_out, "held_out_rows": held_out_rows, "seed": seed, "split_by": split_by}
        while True:
            report = DatasetOverlap.model_validate(
                await self._transport.get(f"/datasets/{id}/report", **params)
            )
            if report.status == "ready":
                return report
            if time.monotonic() > deadline:
                raise Unavailable(
                    "The report is not ready.", code="call_timeout", hint="Request it again later."
                )
            await asyncio.sleep(1.0)

    async def change(self, id: str, *, etag: str | None = None, **fields: Any) -> Dataset:
        """Change a dataset. Fields: name, prompt_view (how rows become prompts)."""
        return Dataset.model_validate(await self._transport.patch(f"/datasets/{id}", fields, etag=etag))

    async def download(self, id: str, to: str | Path, *, progress: Progress | None = None) -> Path:
        """Download the file as uploaded, without skipped rows."""
        return await save(self._transport, f"/datasets/{id}/content", to, progress=progress)

    async def render(
        self, id: str, model: str, *, offset: int = 0, limit: int = 10, **view: Any
    ) -> RenderedPrompts:
        """Render rows as a model's prompts. view: columns, prompt_template, system_prompt, as in a job."""
        body = {"model": model, "offset": offset, "limit": limit, **view}
        return RenderedPrompts.model_validate(
            await self._transport.post(f"/datasets/{id}/render", body, at_least=WORKER_SECONDS)
        )

    async def lengths(self, id: str, model: str, *, max_rows: int = 2000, **view: Any) -> TokenLengths:
        """Prompt lengths in a model's tokens, of all rows or of an even sample of `max_rows`."""
        body = {"model": model, "max_rows": max_rows, **view}
        return TokenLengths.model_validate(
            await self._transport.post(f"/datasets/{id}/lengths", body, at_least=WORKER_SECONDS)
        )

    async def split(
        self,
        id: str,
        *,
        held_out_rows: int | None = None,
        seed: int = 0,
        split_by: Literal["row", "prompt"] = "row",
    ) -> SplitView:
        params = {"held_out_rows": held_out_rows, "seed": seed, "split_by": split_by}
        return SplitView.model_validate(await self._transport.get(f"/datasets/{id}/split", **params))

    async def delete(self, id: str) -> None:
        await self._transport.request("DELETE", f"/datasets/{id}")
