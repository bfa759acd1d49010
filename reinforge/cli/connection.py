"""The API client that commands use, and the credentials file that `reinforge login` writes."""

import json
from pathlib import Path

from reinforge.client import Reinforge
from reinforge.client.credentials import credentials_path, stored


def store(url: str, key: str) -> Path:
    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    credentials = stored() | {url: key, "default": url}
    partial = path.with_suffix(".partial")
    partial.touch(mode=0o600)
    partial.write_text(json.dumps(credentials, indent=2), encoding="utf-8")
    partial.replace(path)
    return path


def connect(url: str | None = None, key: str | None = None) -> Reinforge:
    return Reinforge(url, key)
