"""Reads tensors' names, types and shapes from a safetensors file's header."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from worker.models.bounds import MAX_DIMENSIONS, MAX_ELEMENTS, MAX_NAME, MAX_TENSORS

_MAX_HEADER_BYTES = 100 << 20
_MAX_DTYPE = 16


class _Damaged(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def read_header(path: Path) -> list[Tensor]:
    total = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_MAX_HEADER_BYTES, total - 8):
                raise _Damaged(
                    f"its header's length, {length} bytes, is not between 2 and "
                    f"{min(_MAX_HEADER_BYTES, total - 8)}"
                )
            header = json.loads(file.read(length))
        tensors: list[Tensor] = []
        end = 0
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if len(tensors) == MAX_TENSORS:
                raise _Damaged(f"it lists more than {MAX_TENSORS:,} tensors")
            tensors.append(_tensor(name, entry))
            end = max(end, int(entry["data_offsets"][1]))
        if total - 8 - length != end:
            raise _Damaged(f"its header lists {end:,} bytes of weights, but it has {total - 8 - length:,}")
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
        OverflowError,
    ) as error:
        # Other errors quote the file.
        text = f"{error}" if isinstance(error, _Damaged | json.JSONDecodeError) else "its header is malformed"
        raise InvalidInput(
            f"{path.name} is not a complete safetensors file: {text}.",
            code="damaged_weights",
            hint="Copy or download it again.",
            param="source",
        ) from error
    return tensors


def _tensor(name: str, entry: dict[str, Any]) -> Tensor:
    dtype, shape = entry["dtype"], entry["shape"]
    if len(name) > MAX_NAME:
        raise _Damaged(f"a tensor's name has {len(name):,} characters, at most {MAX_NAME:,} are allowed")
    if not isinstance(dtype, str) or len(dtype) > _MAX_DTYPE:
        raise _Damaged(f"the type of {name} is not a string of at most {_MAX_DTYPE} characters")
    if len(shape) > MAX_DIMENSIONS:
        raise _Damaged(f"{name} has {len(shape):,} dimensions, at most {MAX_DIMENSIONS} are allowed")
    tensor = Tensor(name, dtype, tuple(int(length) for length in shape))
    if not all(0 <= length <= MAX_ELEMENTS for length in tensor.shape) or tensor.size > MAX_ELEMENTS:
        raise _Damaged(f"{name} has a negative dimension or more than {MAX_ELEMENTS:,} elements")
    return tensor
