"""Kombu's filesystem transport for several concurrent consumers."""

from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import loads


class Channel(filesystem.Channel):  # type: ignore[misc]
    def _get(self, queue: str) -> Any:
        suffix = f".{queue}.msg"
        for path in sorted(Path(self.data_folder_in).iterdir()):
            if not path.name.endswith(suffix):
                continue
            try:
                message = loads(path.read_text(encoding="utf-8"))
                path.unlink()
            except (FileNotFoundError, ValueError):
                continue
            return message
        raise Empty


class Transport(filesystem.Transport):  # type: ignore[misc]
    Channel = Channel
