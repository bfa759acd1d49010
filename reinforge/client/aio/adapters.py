"""Adapters: list, upload, download, unpack, promote."""

import builtins
from collections.abc import AsyncIterator
from pathlib import Path

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS
from reinforge.client.aio.downloads import extract, save
from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.shared import Progress, complete_seconds
from reinforge.schemas.aliases import AliasChange, AliasChangeList, AliasInfo, AliasList
from reinforge.schemas.resources import Adapter


class AsyncAdapters:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def promote(
        self, adapter: str, *, to: str, require: str | None = None, etag: str | None = None
    ) -> AliasInfo:
        """Point the alias `to`, created if needed, at an adapter. `require`: conditions on the report card,
        such as `held_out_gain.low>0`. Raises StateConflict `card_not_passed` if one is not met.
        """
        if etag is None:
            etag = next((alias.etag for alias in await self.aliases() if alias.name == to), None)
        body = {"adapter": adapter, "require": require}
        headers = {"if-match": etag} if etag else {}
        answer = await self._transport.request("PUT", f"/adapters/aliases/{to}", json=body, headers=headers)
        return AliasInfo.model_validate(answer.json())

    async def aliases(self) -> builtins.list[AliasInfo]:
        return AliasList.model_validate(await self._transport.get("/adapters/aliases")).data

    async def alias(self, name: str) -> AliasInfo:
        return AliasInfo.model_validate(await self._transport.get(f"/adapters/aliases/{name}"))

    async def alias_history(self, name: str) -> builtins.list[AliasChange]:
        """Changes of an alias, newest first."""
        answer = await self._transport.get(f"/adapters/aliases/{name}/history")
        return AliasChangeList.model_validate(answer).data

    async def delete_alias(self, name: str) -> None:
        await self._transport.delete(f"/adapters/aliases/{name}")

    def list(self) -> AsyncIterator[Adapter]:
        return iterate(self._transport, "/adapters", Adapter)

    async def get(self, id: str) -> Adapter:
        """Get by id or alias."""
        return Adapter.model_validate(await self._transport.get(f"/adapters/{id}"))

    async def upload(self, folder: str | Path, *, model: str, name: str | None = None) -> Adapter:
        """Upload a LoRA adapter: a folder that PEFT's `save_pretrained` wrote. model: its base model's id."""
        folder = Path(folder)
        config, weights = folder / CONFIG, folder / WEIGHTS
        fields = {"model": model, "name": name or folder.resolve().name, "config": config.read_text("utf-8")}
        with weights.open("rb") as file:
            answer = await self._transport.request(
                "POST",
                "/adapters",
                files={"weights": (WEIGHTS, file, "application/octet-stream")},
                data=fields,
                timeout=complete_seconds(weights.stat().st_size),
            )
        return Adapter.model_validate(answer.json())

    async def delete(self, id: str) -> None:
        """Delete an adapter; a job keeps its checkpoints. Only owners may delete adapters of jobs."""
        await self._transport.request("DELETE", f"/adapters/{id}")

    async def download(self, id: str, to: str | Path, *, progress: Progress | None = None) -> Path:
        """Download the adapter's `.tar.gz` to the file `to`."""
        return await save(self._transport, f"/adapters/{id}/download", to, progress=progress)

    async def extract(self, id: str, to: str | Path) -> Path:
        """Download and unpack into the folder `to`, which `PeftModel.from_pretrained` loads."""
        return await extract(self._transport, f"/adapters/{id}/download", to)
