"""RPC `inspect_adapter`: checks that an uploaded adapter fits its base model."""

import shutil
import tarfile
import tempfile
from pathlib import Path

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS
from reinforge.errors import InvalidInput
from reinforge.schemas.rpc.adapters import AdapterFacts, AdapterInspection
from worker.backend_api.blob_cache import BlobCache
from worker.isolated.process import Apart
from worker.models.sources import ModelStore


def inspect_adapter(
    blobs: BlobCache, models: ModelStore, apart: Apart, request: AdapterInspection
) -> AdapterFacts:
    model = models.find(request.model_source, token=request.hub_token, added=True).folder
    with tempfile.TemporaryDirectory(prefix="rf-adapter-") as name:
        folder = Path(name)
        archive = folder / "archive"
        blobs.place(request.adapter.sha256, archive)
        _extract(archive, folder)
        facts = apart.ask("adapter", model, {"adapter": name}, param="weights")
    return AdapterFacts.model_validate(facts)


def _extract(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive, mode="r:") as tar:
            for name in (CONFIG, WEIGHTS):
                source = tar.extractfile(name)
                if source is None:
                    raise KeyError(name)
                with (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except (tarfile.TarError, KeyError) as error:
        raise InvalidInput(
            "The adapter's archive cannot be read: upload it again.", code="adapter_damaged", param="weights"
        ) from error
