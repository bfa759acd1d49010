# Generated from reinforge/client/aio/adapters.py by scripts/sync_client.py: change that file.
"""Adapters: list, upload, download, unpack, promote."""

import builtins
from collections.abc import Iterator
from pathlib import Path

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS
from reinforge.client.shared import Progress, complete_seconds
from reinforge.client.sync.downloads import extract, save
from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.aliases import AliasChange, AliasChangeList, AliasInfo, AliasList
from reinforge.schemas.resources import Adapter


class Adapters:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def promote(
        self, adapter: str, *, to: str, require: str | None = None, etag: str | None = None
    ) -> AliasInfo:
        """Point the alias `to`, created if needed, at an adapter. `require`: conditions on the report card,
        such as `held_out_gain.low>0`. Raises StateConflict `card_not_passed` if one is not met.
        """
        if etag is None:
            etag = next((alias.etag for alias in self.aliases() if alias.name == to), None)
        body = {"adapter": adapter, "require": require}
        headers = {"if-match": etag} if etag else {}
        answer = self._transport.request("PUT", f"/adapters/aliases/{to}", json=body, headers=headers)
        return AliasInfo.model_validate(answer.json())

    def aliases(self) -> builtins.list[AliasInfo]:
        return AliasList.model_validate(self._transport.get("/adapters/aliases")).data

    def alias(self, name: str) -> AliasInfo:
        return AliasInfo.model_validate(self._transport.get(f"/adapters/aliases/{name}"))

    def alias_history(self, name: str) -> builtins.list[AliasChange]:
        """Changes of an alias, newest first."""
        answer = self._transport.get(f"/adapters/aliases/{name}/history")
        return AliasChangeList.model_validate(answer).data

    def delete_alias(self, name: str) -> None:
        self._transport.delete(f"/adapters/aliases/{name}")

    def list(self) -> Iterator[Adapter]:
        return iterate(self._transport, "/adapters", Adapter)

    def get(self, id: str) -> Adapter:
        """Get by id or alias."""
        return Adapter.model_validate(self._transport.get(f"/adapters/{id}"))

    def upload(self, folder: str | Path, *, model: str, name: str | None = None) -> Adapter:
        """Upload a LoRA adapter: a folder that PEFT's `save_pretrained` wrote. model: its base model's id."""
        folder = Path(folder)
        config, weights = folder / CONFIG, folder / WEIGHTS
        fields = {"model": model, "name": name or folder.resolve().name, "config": config.read_text("utf-8")}
        with weights.open("rb") as file:
            answer = self._transport.request(
                "POST",
                "/adapters",
                files={"weights": (WEIGHTS, file, "application/octet-stream")},
                data=fields,
                timeout=complete_seconds(weights.stat().st_size),
            )
        return Adapter.model_validate(answer.json())

    def delete(self, id: str) -> None:
        """Delete an adapter; a job keeps its checkpoints. Only owners may delete adapters of jobs."""
        self._transport.request("DELETE", f"/adapters/{id}")

    def download(self, id: str, to: str | Path, *, progress: Progress | None = None) -> Path:
        """Download the adapter's `.tar.gz` to the file `to`."""
        return save(self._transport, f"/adapters/{id}/download", to, progress=progress)

    def extract(self, id: str, to: str | Path) -> Path:
        """Download and unpack into the folder `to`, which `PeftModel.from_pretrained` loads."""
        return extract(self._transport, f"/adapters/{id}/download", to)
