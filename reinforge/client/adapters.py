"""Adapters: what a job leaves behind."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from reinforge.archives import unpack
from reinforge.client.downloads import Progress, save
from reinforge.client.paging import iterate
from reinforge.client.transport import Transport
from reinforge.schemas.resources import Adapter


class Adapters:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Iterator[Adapter]:
        return iterate(self._transport, "/adapters", Adapter)

    def get(self, id: str) -> Adapter:
        return Adapter.model_validate(self._transport.get(f"/adapters/{id}"))

    def download(self, id: str, to: str | Path, *, progress: Progress | None = None) -> Path:
        """Write the adapter's `.tar.gz` to the file `to`; `progress(bytes so far, total or None)`."""
        return save(self._transport, f"/adapters/{id}/download", to, progress=progress)

    def extract(self, id: str, to: str | Path) -> Path:
        """Download and unpack into the folder `to`: a directory that `PeftModel.from_pretrained` loads."""
        to = Path(to)
        archive = self.download(id, to.parent / f".{to.name}.tar.gz")
        try:
            to.mkdir(parents=True, exist_ok=True)
            with tarfile.open(archive) as tar:
                unpack(tar, to)
        finally:
            archive.unlink()
        inner = [p for p in to.iterdir() if p.is_dir()]
        return inner[0] if not (to / "adapter_config.json").exists() and len(inner) == 1 else to
