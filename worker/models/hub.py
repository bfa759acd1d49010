"""Downloads models from the hub: pins a revision to its commit, resumes downloads and checks the files'
sizes.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import InvalidInput, Unavailable
from worker.backend_api.progress_callback import ProgressCallback, ignore_progress
from worker.machine import settings

FILES = ["*.safetensors", "*.json", "*.jinja", "tokenizer.model", "*.txt", "README.md", "LICENSE*"]
"""Patterns of the files to download, never pickles."""
COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_COMPLETE = ".reinforge-complete"
_ACCESS = ".reinforge-access"
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Pinned:
    """A repository at a commit, and its files as (name, bytes)."""

    repository: str
    commit: str
    files: tuple[tuple[str, int], ...]

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.files)


def is_complete(target: Path, commit: str) -> bool:
    try:
        return (target / _COMPLETE).read_text().strip() == commit
    except FileNotFoundError:
        return False


def pin(repository: str, revision: str | None, token: str | None) -> Pinned:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile
    from huggingface_hub.utils import filter_repo_objects

    with _hub_errors(f"{repository}@{revision or 'main'}"):
        api = HfApi(endpoint=settings.hub_endpoint(), token=token)
        commit = api.model_info(repository, revision=revision).sha
        entries = [
            (entry.path, int(entry.size))
            for entry in api.list_repo_tree(repository, revision=commit, recursive=True)
            if isinstance(entry, RepoFile)
        ]
    names = [name for name, _ in entries]
    _check_weights(f"{repository}@{revision or 'main'}", names)
    selected = set(filter_repo_objects(names, allow_patterns=FILES))
    return Pinned(repository, str(commit), tuple(entry for entry in entries if entry[0] in selected))


def check_access(repository: str, commit: str, target: Path, token: str | None) -> None:
    """Check that a token may read a model, which perhaps another token downloaded; success is recorded and
    not checked again. Raises InvalidInput, Unavailable.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    if _holder(commit, token) in _holders(target):
        return
    with _hub_errors(f"{repository}@{commit[:12]}"):
        url = hf_hub_url(repository, "config.json", revision=commit, endpoint=settings.hub_endpoint())
        get_hf_file_metadata(url, token=token, endpoint=settings.hub_endpoint())
    _note_access(target, commit, token)


def _holder(commit: str, token: str | None) -> str:
    from huggingface_hub import get_token

    return hashlib.sha256(f"{commit} {token or get_token() or ''}".encode()).hexdigest()


def _holders(target: Path) -> list[str]:
    try:
        return (target / _ACCESS).read_text().split()
    except FileNotFoundError:
        return []


def _note_access(target: Path, commit: str, token: str | None) -> None:
    with (target / _ACCESS).open("a") as file:
        file.write(_holder(commit, token) + "\n")


def fetch(
    pinned: Pinned, target: Path, token: str | None, on_progress: ProgressCallback = ignore_progress
) -> None:
    """Download missing files, resuming partial ones. Raises InvalidInput, Unavailable."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars, tqdm

    class ProgressBar(tqdm):  # type: ignore[misc]
        def update(self, n: float | None = 1) -> bool | None:
            on_progress()
            displayed: bool | None = super().update(n)
            return displayed

    disable_progress_bars()  # progress is reported from `bytes_there`
    name = f"{pinned.repository}@{pinned.commit[:12]}"
    with _hub_errors(name):
        snapshot_download(
            pinned.repository,
            revision=pinned.commit,
            local_dir=target,
            allow_patterns=FILES,
            token=token,
            endpoint=settings.hub_endpoint(),
            max_workers=_AT_ONCE,
            tqdm_class=ProgressBar,
        )
    # Without the hub the library accepts an incomplete folder.
    missing = [file for file, size in pinned.files if not _has(target / file, size)]
    if missing:
        raise Unavailable(
            f"The download of {name} is not complete; missing or cut off: {', '.join(missing[:3])}.",
            code="hub_unavailable",
            hint="Add the model again: the download goes on where it stopped.",
        )
    _note_access(target, pinned.commit, token)
    (target / _COMPLETE).write_text(pinned.commit + "\n")


def bytes_there(target: Path) -> int:
    total = 0
    for folder, _, names in os.walk(target):
        for name in names:
            try:
                total += (Path(folder) / name).stat().st_size
            except FileNotFoundError:  # renamed just now
                continue
    return total


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _check_weights(name: str, files: list[str]) -> None:
    if any(file.endswith(".safetensors") and "/" not in file for file in files):
        return
    pickles = [file for file in files if file.endswith((".bin", ".pt", ".pth"))]
    if pickles:
        raise _invalid(
            f"{name} stores its weights in {pickles[0]}, a format that can run code when it is opened.",
            "unsafe_weights",
            "Use a revision with safetensors (often refs/pr/…), or convert it where you trust it.",
        )
    raise _invalid(
        f"{name} has no .safetensors files.", "not_a_model", "Choose a whole model, not an adapter or GGUF."
    )


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GatedRepoError as error:
        raise _invalid(
            f"{name} is gated, and this token has no access to it.",
            "model_gated",
            "Accept its terms on its page, then give a `token` that may read it, or set HF_TOKEN for the workers.",
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        raise _invalid(
            f"The hub has no {name}, or does not show it to this worker.",
            "model_not_found",
            "Check the name and the revision. For a private model give a `token`, or set HF_TOKEN for the workers.",
        ) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise _away(name, error) from error
    except Exception as error:
        # The library's HTTP client changed between its versions; its transport errors share a base class by name.
        if "transport" not in " ".join(kind.__name__.lower() for kind in type(error).__mro__):
            raise
        raise _away(name, error) from error


def _away(name: str, error: Exception) -> Unavailable:
    return Unavailable(
        f"{name} cannot be downloaded: {type(error).__name__}: {error}"[:500],
        code="hub_unavailable",
        hint="Check that the worker can reach the hub, or copy the model to a folder and give its path.",
    )


def _invalid(message: str, code: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code=code, hint=hint, param="source")
