# Generated from reinforge/client/aio/adapters.py by scripts/sync_client.py: change that file.
"""Adapters: list, upload, download, unpack."""

from collections.abc import Iterator
from pathlib import Path

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS
from reinforge.client.shared import Progress, complete_seconds
from reinforge.client.sync.downloads import extract, save
from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.resources import Adapter


class Adapters:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Iterator[Adapter]:
        return iterate(self._transport, "/adapters", Adapter)

    def get(self, id: str) -> Adapter:
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
        """The job that trained it keeps its checkpoints. Adapters of jobs: owners only."""
        self._transport.request("DELETE", f"/adapters/{id}")

    def download(self, id: str, to: str | Path, *, progress: Progress | None = None) -> Path:
        """Write the adapter's `.tar.gz` to the file `to`; `progress(bytes so far, total or None)`."""
        return save(self._transport, f"/adapters/{id}/download", to, progress=progress)

    def extract(self, id: str, to: str | Path) -> Path:
        """Download and unpack into the folder `to`, which `PeftModel.from_pretrained` loads."""
        return extract(self._transport, f"/adapters/{id}/download", to)
