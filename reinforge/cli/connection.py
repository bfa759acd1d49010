"""Which server and which key: options, then environment, then what `reinforge login` stored."""

import json
import os
from pathlib import Path

from reinforge.client import Reinforge
from reinforge.client.client import DEFAULT_URL


def credentials_path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "reinforge" / "credentials.json"


def stored() -> dict[str, str]:
    """Server address → API key; `default` names the address that was logged in to last."""
    try:
        value = json.loads(credentials_path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {str(k): str(v) for k, v in value.items()}


def store(url: str, key: str) -> Path:
    """Remember a key, readable by its owner alone."""
    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = stored() | {url: key, "default": url}
    partial = path.with_suffix(".partial")
    partial.touch(mode=0o600)
    partial.write_text(json.dumps(known, indent=2), encoding="utf-8")
    partial.replace(path)
    return path


def connect(url: str | None = None, key: str | None = None) -> Reinforge:
    known = stored()
    url = (url or os.environ.get("REINFORGE_URL") or known.get("default") or DEFAULT_URL).rstrip("/")
    return Reinforge(url, key or os.environ.get("REINFORGE_API_KEY") or known.get(url))
