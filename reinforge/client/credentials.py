"""Server address and API key: from arguments, the environment, or `reinforge login`."""

import json
import os
from pathlib import Path

DEFAULT_URL = "http://127.0.0.1:8321"


def credentials_path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "reinforge" / "credentials.json"


def stored() -> dict[str, str]:
    """Server address → API key; `default` names the address that was logged in to last."""
    try:
        value = json.loads(credentials_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no home folder
        return {}
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}


def resolve(url: str | None, key: str | None) -> tuple[str, str | None]:
    """Address and key of the server to use. A stored key goes to the server that it was stored for, and no other."""
    credentials = stored()
    url = (url or os.environ.get("REINFORGE_URL") or credentials.get("default") or DEFAULT_URL).rstrip("/")
    return url, key or os.environ.get("REINFORGE_API_KEY") or credentials.get(url)
