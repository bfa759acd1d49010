"""Reads completions, metrics and checkpoints of a bundle by step, with limits on size."""

import tarfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet

from reinforge.bundles.archive import invalid
from reinforge.bundles.manifest import BundledCheckpoint, BundleManifest
from reinforge.comparison.divergence import COLUMNS, Split
from reinforge.parsing.parquet_rows import every_row

WEIGHTS = "adapter_model.safetensors"
MOST_POINTS = 50_000_000
_DAMAGE = (
    *(pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError, RecursionError),
    *(LookupError, AttributeError),
)


class BundleRecords:
    """Records of an unpacked bundle. Reading raises InvalidInput `invalid_bundle` for damaged files."""

    def __init__(self, manifest: BundleManifest, folder: Path) -> None:
        self._folder = folder
        self._rollouts = {(part.split, part.step): part.path for part in manifest.rollouts}
        self.checkpoints = {checkpoint.step: checkpoint for checkpoint in manifest.checkpoints}
        self._metrics = self._read_metrics(manifest.metrics)

    def metrics(self, kind: Split, step: int) -> dict[str, float | None] | None:
        return self._metrics.get((kind, step))

    def completions(self, split: Split, step: int) -> list[dict[str, Any]] | None:
        path = self._rollouts.get((split, step))
        return None if path is None else read_completions(self._folder / path)

    def weights(self, checkpoint: BundledCheckpoint) -> bytes | None:
        """The checkpoint's safetensors file; None if the bundle lacks it."""
        if checkpoint.path is None:
            return None
        with _readable(checkpoint.path):
            return weights_of(self._folder / checkpoint.path)

    def _read_metrics(self, path: str) -> dict[tuple[str, int], dict[str, float | None]]:
        metrics: dict[tuple[str, int], dict[str, float | None]] = defaultdict(dict)
        with _readable(path), parquet.ParquetFile(self._folder / path) as file:
            if file.metadata.num_rows > MOST_POINTS:
                raise ValueError(
                    f"it has {file.metadata.num_rows} points, more than the limit of {MOST_POINTS}"
                )
            for point in every_row(file, ("kind", "key", "step", "value")):
                metrics[str(point["kind"]), int(point["step"])][str(point["key"])] = point["value"]
        return dict(metrics)


def read_completions(path: Path) -> list[dict[str, Any]]:
    """Read the columns to compare. Raises InvalidInput if the file is damaged."""
    with _readable(path.name), parquet.ParquetFile(path) as file:
        columns = [name for name in COLUMNS if name in file.schema_arrow.names]
        rows = list(every_row(file, columns))
        return sorted(rows, key=lambda row: (row["prompt_no"], row["sample_no"]))


def weights_of(archive: Path) -> bytes | None:
    """The safetensors file in a checkpoint's tar file; None if it has none. Raises tarfile.TarError."""
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            if member.isfile() and member.name == WEIGHTS and (file := tar.extractfile(member)) is not None:
                return file.read()
    return None


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except (*_DAMAGE, tarfile.TarError) as error:
        raise invalid(f"{path}: {str(error)[:200] or type(error).__name__}") from error
