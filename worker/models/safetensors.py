"""What a safetensors file says about itself: the names, types and shapes of its tensors, without reading them.

Layout: 8 bytes length (little endian) of a JSON header, the header, the tensors' bytes.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import InvalidInput

_MAX_HEADER_BYTES = 100 << 20
"""The format's own limit."""


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def read_header(path: Path) -> list[Tensor]:
    """The tensors of one file. Raises InvalidInput `damaged_weights` when it is not a whole safetensors file."""
    total = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_MAX_HEADER_BYTES, total - 8):
                raise ValueError(f"its header would be {length} bytes long")
            header = json.loads(file.read(length))
        tensors, end = [], 0
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            tensors.append(Tensor(name, str(entry["dtype"]), tuple(int(n) for n in entry["shape"])))
            end = max(end, int(entry["data_offsets"][1]))
        if total - 8 - length != end:
            raise ValueError(f"{end:,} bytes of weights were announced, {total - 8 - length:,} are there")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InvalidInput(
            f"{path.name} is not a whole safetensors file: {error}.",
            code="damaged_weights",
            hint="Copy or download it again.",
            param="source",
        ) from error
    return tensors
