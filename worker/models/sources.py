"""Finds a base model's files: `builtin:NAME`, a folder, or `hub:org/name@revision`."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reinforge.base_models.chat_templates import TEMPLATES
from reinforge.errors import InvalidInput
from worker.backend_api.progress_callback import ProgressCallback, ignore_progress
from worker.models import hub
from worker.models.folders import OWN, ModelFolders, not_allowed
from worker.settings import WorkerSettings
from worker.starter import CHECKPOINT, TOOLS_CHECKPOINT

BUILTIN = {"starter-arith": CHECKPOINT, "starter-tools": TOOLS_CHECKPOINT}
_HUB = re.compile(
    r"(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[A-Za-z0-9][\w./-]*))?\Z"
)
_CONTENT = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt")
"""Patterns of the files that determine a model's output."""
_CHUNK = 1 << 20

OnDownload = Callable[[Path, int], None]


@dataclass(frozen=True, slots=True)
class ModelLocation:
    folder: Path
    source: str
    commit: str | None = None


class ModelStore:
    def __init__(self, folder: Path, folders: ModelFolders | None = None) -> None:
        self._folder, self._folders = folder, folders or ModelFolders()

    def resolve(
        self,
        source: str,
        *,
        token: str | None = None,
        added: bool = False,
        on_progress: ProgressCallback = ignore_progress,
    ) -> Path:
        """Folder of a source, downloaded from the hub if needed. token: for private models. Raises
        InvalidInput, Unavailable `hub_unavailable`.
        """
        return self.find(source, token=token, added=added, on_progress=on_progress).folder

    def find(
        self,
        source: str,
        *,
        token: str | None = None,
        added: bool = False,
        any_folder: bool = False,
        begun: OnDownload | None = None,
        on_progress: ProgressCallback = ignore_progress,
    ) -> ModelLocation:
        plain, _, template = source.partition("#template=")
        if not added and not any_folder and _is_folder(plain):
            self._folders.check(plain, _absolute(plain), downloads=self._folder)
        location = self._find(plain, token, added, begun, on_progress)
        check_folder(location.folder, plain)
        if not template:
            return location
        folder = self._with_template(location.folder, template)
        return ModelLocation(folder, f"{location.source}#template={template}", location.commit)

    def _find(
        self,
        source: str,
        token: str | None,
        added: bool,
        begun: OnDownload | None,
        on_progress: ProgressCallback,
    ) -> ModelLocation:
        kind, colon, rest = source.partition(":")
        if colon and kind == "builtin":
            if rest not in BUILTIN:
                raise _invalid(
                    f"There is no built-in model {rest!r}.",
                    "model_not_found",
                    f"Built-in models: {', '.join(BUILTIN)}.",
                )
            return ModelLocation(BUILTIN[rest], source)
        if colon and kind == "hub":
            return self._from_hub(rest, token, added, begun, on_progress)
        return ModelLocation(_absolute(source), source)

    def content_hash(self, folder: Path, on_progress: ProgressCallback = ignore_progress) -> str:
        """SHA-256 over the names and contents of `content_files`, cached by size and times."""
        stored = self._stored_hashes()
        lines, hashes = [], {}
        for path in content_files(folder):
            status = path.stat()
            key = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"
            hashes[key] = stored.get(key) or _file_hash(path, on_progress)
            lines.append(f"{path.name} {hashes[key]}\n")
        if hashes.keys() - stored.keys():
            self._keep_hashes(stored | hashes)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def target(self, repository: str, commit: str) -> Path:
        return self._folder / re.sub(r"[^\w.-]", "--", f"{repository}@{commit}")

    def _from_hub(
        self,
        name: str,
        token: str | None,
        added: bool,
        begun: OnDownload | None,
        on_progress: ProgressCallback,
    ) -> ModelLocation:
        match = _HUB.match(name)
        if match is None:
            raise _invalid(
                f"{name!r} does not name a model on the hub.",
                "model_not_found",
                "Write hub:org/name@revision.",
            )
        repository, revision = match["repository"], match["revision"]
        if (
            revision is None
            or not hub.COMMIT.match(revision)
            or not hub.is_complete(self.target(repository, revision), revision)
        ):
            pinned = hub.pin(repository, revision, token)
            revision, target = pinned.commit, self.target(repository, pinned.commit)
            if not hub.is_complete(target, revision):
                if begun is not None:
                    begun(target, pinned.bytes)
                hub.fetch(pinned, target, token, on_progress)
        target = self.target(repository, revision)
        if not added:
            hub.check_access(repository, revision, target, token)
        return ModelLocation(target, f"hub:{repository}@{revision}", revision)

    def _with_template(self, folder: Path, name: str) -> Path:
        if name not in TEMPLATES:
            raise _invalid(
                f"There is no chat template {name!r}.",
                "unknown_template",
                f"Use one of {', '.join(TEMPLATES)}.",
            )
        digest = hashlib.sha256(f"{folder.resolve()}|{name}".encode()).hexdigest()[:24]
        made = self._folder / f"with-template-{digest}"
        fresh = made.with_name(f".{made.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700, parents=True)
        for path in folder.iterdir():
            if path.is_file() and path.name != "chat_template.jinja" and not path.name.startswith("."):
                (fresh / path.name).symlink_to(path.resolve())
        (fresh / "chat_template.jinja").write_text(TEMPLATES[name], encoding="utf-8")
        if made.is_dir() and _same(made, fresh):
            shutil.rmtree(fresh)
            return made
        shutil.rmtree(made, ignore_errors=True)
        try:
            fresh.rename(made)
        except OSError:  # another process was faster
            shutil.rmtree(fresh, ignore_errors=True)
        return made

    def _hash_file(self) -> Path:
        return self._folder / "hashes.json"

    def _stored_hashes(self) -> dict[str, str]:
        try:
            stored = json.loads(self._hash_file().read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}

    def _keep_hashes(self, hashes: dict[str, str]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._hash_file().with_name(f".hashes.{os.getpid()}")
        fresh.write_text(json.dumps(dict(list(hashes.items())[-10_000:])))
        fresh.replace(self._hash_file())


def model_store(settings: WorkerSettings) -> ModelStore:
    if not settings.model_folders:
        settings.folder(OWN)  # to be found by who looks where models go
    allowed = ModelFolders.configured(settings.model_folders, settings.home)
    return ModelStore(settings.folder("models"), allowed)


def content_files(folder: Path) -> list[Path]:
    return sorted({path for pattern in _CONTENT for path in folder.glob(pattern) if path.is_file()})


def _is_folder(source: str) -> bool:
    return not source.startswith(("builtin:", "hub:"))


def _absolute(source: str) -> Path:
    try:
        folder = Path(source).expanduser()
    except RuntimeError:  # there is no such user
        raise not_allowed(source) from None
    if "\0" in source:
        raise not_allowed(source)
    if not folder.is_absolute():
        raise _invalid(
            f"{source!r} is neither `hub:org/name@revision` nor an absolute path.",
            "model_not_found",
            "Give the folder's whole path on the worker's machine.",
        )
    return folder


def check_folder(folder: Path, source: str) -> None:
    """Raise InvalidInput unless the folder has a config.json and safetensors weights."""
    try:
        _check_folder(folder, source)
    except OSError as error:  # a part of the path may not be read
        message = f"The worker may not read {source}."
        raise _invalid(message, "not_a_model", "Allow the worker's user to read it.") from error


def _check_folder(folder: Path, source: str) -> None:
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
                f"{source} stores its weights in {pickles[0]}, a format that can run code when it is opened.",
                "unsafe_weights",
                "Load it with transformers where you trust it; save_pretrained() then writes safetensors.",
            )
        raise _invalid(f"{source} has no .safetensors files.", "not_a_model", "Complete the download.")


def _same(one: Path, other: Path) -> bool:
    def held(folder: Path) -> dict[str, str]:
        template = "chat_template.jinja"
        return {
            path.name: path.read_text() if path.name == template else str(path.readlink())
            for path in folder.iterdir()
        }

    return held(one) == held(other)


def _file_hash(path: Path, on_progress: ProgressCallback) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            digest.update(part)
            on_progress()
    return digest.hexdigest()


def _invalid(message: str, code: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code=code, hint=hint, param="source")
