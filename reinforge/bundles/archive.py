"""Reads untrusted bundles: tar archives of plain files, in the order of the manifest `bundle.json`.

Each file has to have the name, size and SHA-256 that the manifest states. Extended headers, links, devices
and compression are refused.
"""

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from reinforge.bundles.manifest import FORMAT, NAME, BundledFile, BundleManifest
from reinforge.errors import InvalidInput, TooLarge
from reinforge.parsing.json_depth import is_deeper

MOST_MANIFEST_BYTES = 64 << 20
MOST_BYTES = 1 << 36
"""Maximum bytes of all files together."""
DEEPEST = 64
_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20


def unpack_bundle(path: Path, folder: Path) -> BundleManifest:
    """Extract a bundle into the empty `folder`. Raises InvalidInput or TooLarge."""
    try:
        with path.open("rb") as file:
            manifest = read_manifest(file)
            _check_room(manifest, folder)
            for entry in manifest.files:
                _extract(file, entry, folder)
            if any(file.read(2 * _BLOCK)):
                raise invalid("it has files that its manifest does not list")
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}.", code="file_not_found") from None
    except IsADirectoryError:
        raise invalid(f"{path} is a folder") from None
    return manifest


def read_manifest(file: BinaryIO) -> BundleManifest:
    """Read the manifest, the archive's first member. Raises InvalidInput `invalid_bundle`."""
    size = _header(file, NAME)
    if size > MOST_MANIFEST_BYTES:
        raise invalid(f"its {NAME} has {size} bytes, more than the limit of {MOST_MANIFEST_BYTES}")
    content = _exactly(file, size)
    _exactly(file, -size % _BLOCK)
    try:
        document = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise invalid(f"its {NAME} is not valid JSON: {str(error)[:200]}") from error
    if not isinstance(document, dict) or is_deeper(document, DEEPEST):
        raise invalid(f"its {NAME} is not a JSON object, or is nested more than {DEEPEST} levels deep")
    if document.get("format") != FORMAT:
        raise invalid(
            f"its format is {str(document.get('format'))[:20]}, but this release reads format {FORMAT}"
        )
    try:
        manifest = BundleManifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise invalid(f"its {NAME}: {place}: {first['msg']}") from error
    _check_paths(manifest)
    return manifest


def invalid(reason: str) -> InvalidInput:
    return InvalidInput(
        f"The bundle cannot be read: {reason}.",
        code="invalid_bundle",
        hint="Write it again with `reinforge bundle JOB`.",
    )


def _check_paths(manifest: BundleManifest) -> None:
    paths = [entry.path for entry in manifest.files]
    if len(set(paths)) < len(paths) or NAME in paths:
        raise invalid("its manifest lists a file twice")
    named = [manifest.metrics, *(part.path for part in manifest.rewards)]
    named += [part.path for part in manifest.rollouts]
    optional = [manifest.dataset.path, manifest.start, *(part.path for part in manifest.checkpoints)]
    optional += [part.path for part in (manifest.held_out, manifest.fork) if part is not None]
    if missing := {*named, *(path for path in optional if path is not None)} - set(paths):
        raise invalid(f"it does not contain {min(missing)}")


def _check_room(manifest: BundleManifest, folder: Path) -> None:
    total = sum(entry.bytes for entry in manifest.files)
    if total > MOST_BYTES:
        raise TooLarge(
            f"The bundle is too large: {total} bytes (limit {MOST_BYTES}).", code="bundle_too_large"
        )
    free = shutil.disk_usage(folder).free
    if total > free:
        raise TooLarge(
            f"The bundle needs {total} bytes, but {folder} has only {free} free.",
            code="bundle_too_large",
            hint="Choose a folder on another disk.",
        )


def _extract(file: BinaryIO, entry: BundledFile, folder: Path) -> None:
    size = _header(file, entry.path)
    if size != entry.bytes:
        raise invalid(f"{entry.path} has {size} bytes, but its manifest says {entry.bytes}")
    target = folder / entry.path
    digest, remaining = hashlib.sha256(), size
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        out = target.open("xb")
    except (FileExistsError, NotADirectoryError) as error:
        raise invalid(f"{entry.path} is both a file and a folder") from error
    with out:
        while remaining:
            chunk = _exactly(file, min(_CHUNK, remaining))
            digest.update(chunk)
            out.write(chunk)
            remaining -= len(chunk)
    _exactly(file, -size % _BLOCK)
    if digest.hexdigest() != entry.sha256:
        raise invalid(f"the checksum of {entry.path} differs from the one in its manifest")


def _header(file: BinaryIO, name: str) -> int:
    """Size of the next member, which must be called `name`."""
    block = file.read(_BLOCK)
    if len(block) == _BLOCK and not any(block):
        raise invalid(f"{name} is missing")
    try:
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.HeaderError, ValueError) as error:
        raise invalid("it is cut off" if len(block) < _BLOCK else "it is not a tar archive") from error
    if not info.isreg() or info.sparse is not None or info.name != name or info.size < 0:
        raise invalid(f"it has {info.name[:100]!r} where {name} is expected")
    return info.size


def _exactly(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise invalid("it is cut off")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")
