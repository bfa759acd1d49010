"""Environment variables of the sandbox: paths of its files only, nothing that would weaken a jail."""

import os
from pathlib import Path


def prefix_root() -> Path | None:
    path = os.environ.get("REINFORGE_PREFIX")
    return Path(path).absolute() if path else None


def home() -> Path | None:
    path = os.environ.get("REINFORGE_HOME")
    return Path(path).absolute() if path else None


def log_format() -> str | None:
    return os.environ.get("REINFORGE_LOG_FORMAT") or None


def language_data_folders() -> list[Path]:
    return [Path(path) for path in os.environ.get("NLTK_DATA", "").split(os.pathsep) if path]
