"""Kombu's folder transport with a consumer that several processes may run safely.

Kombu's own reader moves a message away before reading it and fails on one that is still being written. Here a
message belongs to whoever removes its file, and one that does not parse yet is left for the next look.
"""

from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import loads


class Channel(filesystem.Channel):  # type: ignore[misc]
    def _get(self, queue: str) -> Any:
        """The oldest message of a queue. Raises Empty."""
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
