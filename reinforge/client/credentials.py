"""Server address and API key: from arguments, the environment, or `reinforge login`."""

import json
from pathlib import Path

from reinforge import settings

DEFAULT_URL = "http://127.0.0.1:8321"


def credentials_path() -> Path:
    return settings.config_folder() / "reinforge" / "credentials.json"


def stored() -> dict[str, str]:
    """API keys by server address; the entry `default` is the address of the last login."""
    try:
        value = json.loads(credentials_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no home folder
        return {}
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}


def resolve(url: str | None, key: str | None) -> tuple[str, str | None]:
    """Address and key of the server to use. A stored key is sent only to its own server."""
    credentials = stored()
    url = (url or settings.server_url() or credentials.get("default") or DEFAULT_URL).rstrip("/")
    return url, key or settings.api_key() or credentials.get(url)
