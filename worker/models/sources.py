"""Where a base model's files are: `builtin:starter-arith`, a folder, or `hub:org/name@revision`."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

from reinforge.errors import InvalidInput, Unavailable
from worker.starter import CHECKPOINT

BUILTIN = {"starter-arith": CHECKPOINT}
_HUB = re.compile(
    r"(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[A-Za-z0-9][\w./-]*))?\Z"
)
_HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "tokenizer.model", "*.txt", "README.md", "LICENSE*"]
"""Never pickles: no `.bin`, no `.pt`, no Python."""
_CONTENT = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt")
"""Files that decide what the model does; cards and licences may change without changing it."""
_CHUNK = 1 << 20

Download = Callable[[str, str | None, Path], Path]


class ModelStore:
    """Finds a model's folder, downloading it when needed, and names its content."""

    def __init__(self, folder: Path, *, download: Download | None = None) -> None:
        self._folder = folder
        self._download = download or _hub_download

    def resolve(self, source: str) -> Path:
        """The folder of a source, complete and on this machine.

        Raises InvalidInput (`model_not_found`, `unsafe_weights`, `not_a_model`, all with param `source`) and
        Unavailable `hub_unavailable`.
        """
        kind, colon, rest = source.partition(":")
        if colon and kind == "builtin":
            if rest not in BUILTIN:
                raise _invalid(
                    f"There is no built-in model {rest!r}.",
                    "model_not_found",
                    f"Known: {', '.join(BUILTIN)}.",
                )
            folder = BUILTIN[rest]
        elif colon and kind == "hub":
            folder = self._from_hub(rest)
        else:
            folder = Path(source).expanduser()
            if not folder.is_absolute():
                message = f"{source!r} is neither `hub:org/name@revision` nor an absolute path."
                raise _invalid(
                    message, "model_not_found", "Give the folder's whole path on the worker's machine."
                )
        check_folder(folder, source)
        return folder

    def content_hash(self, folder: Path) -> str:
        """SHA-256 over the names and contents of the files that make the model; hashes of large files are kept.

        A file counts as unchanged while its size and times are.
        """
        known = self._known_hashes()
        lines, seen = [], {}
        for path in content_files(folder):
            status = path.stat()
            key = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"
            seen[key] = known.get(key) or _file_hash(path)
            lines.append(f"{path.name} {seen[key]}\n")
        if seen.keys() - known.keys():
            self._keep_hashes(known | seen)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _from_hub(self, name: str) -> Path:
        match = _HUB.match(name)
        if match is None:
            raise _invalid(
                f"{name!r} does not name a model on the hub.",
                "model_not_found",
                "Write hub:org/name@revision.",
            )
        target = self._folder / re.sub(
            r"[^\w.-]", "--", f"{match['repository']}@{match['revision'] or 'main'}"
        )
        return self._download(match["repository"], match["revision"], target)

    def _hash_file(self) -> Path:
        return self._folder / "hashes.json"

    def _known_hashes(self) -> dict[str, str]:
        try:
            known = json.loads(self._hash_file().read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _keep_hashes(self, hashes: dict[str, str]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._hash_file().with_name(f".hashes.{os.getpid()}")
        fresh.write_text(json.dumps(dict(list(hashes.items())[-10_000:])))
        fresh.replace(self._hash_file())


def content_files(folder: Path) -> list[Path]:
    """Files that make the model, sorted by name; sub-folders do not count."""
    return sorted({path for pattern in _CONTENT for path in folder.glob(pattern) if path.is_file()})


def check_folder(folder: Path, source: str) -> None:
    """Raises InvalidInput unless the folder holds a configuration and safetensors weights."""
    if not folder.is_dir():
        hint = "The folder has to be on the worker's machine, which may not be yours."
        raise _invalid(f"There is no folder {folder} on the worker.", "model_not_found", hint)
    if not (folder / "config.json").is_file():
        raise _invalid(
            f"{source} has no config.json.", "not_a_model", "Give a folder in the Hugging Face layout."
        )
    if not any(folder.glob("*.safetensors")):
        pickles = sorted(path.name for pattern in ("*.bin", "*.pt", "*.pth") for path in folder.glob(pattern))
        if pickles:
            raise _invalid(
                f"{source} has its weights as {pickles[0]}, which runs code when it is opened.",
                "unsafe_weights",
                "Convert it: load it with transformers where you trust it, then save_pretrained() writes safetensors.",
            )
        raise _invalid(f"{source} has no .safetensors files.", "not_a_model", "Is the download complete?")


def _hub_download(repository: str, revision: str | None, target: Path) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name = f"{repository}@{revision or 'main'}"
    try:
        return Path(
            snapshot_download(repository, revision=revision, local_dir=target, allow_patterns=_HUB_FILES)
        )
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        hint = "Check the name and the revision. For a gated model set HF_TOKEN for the workers."
        raise _invalid(
            f"The hub has no {name}, or does not show it to this worker.", "model_not_found", hint
        ) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise Unavailable(
            f"{name} cannot be downloaded: {type(error).__name__}: {error}"[:500],
            code="hub_unavailable",
            hint="Can the worker reach the hub? Without it, copy the model to a folder and give its path.",
        ) from error


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _invalid(message: str, code: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code=code, hint=hint, param="source")
