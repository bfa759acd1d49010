"""Receives adapters: whole and plausible ones get a folder, others leave nothing behind."""

import hashlib
import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from reinforge.errors import InvalidInput, TooLarge
from worker.models.safetensors import read_header

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
MAX_CONFIG_BYTES = 2**20
MAX_ADAPTER_BYTES = 16 * 2**30


async def receive(
    name: str, config_bytes: int, body: AsyncIterator[bytes], folder: Path, *, max_rank: int, most: int
) -> str:
    """Write an adapter into `folder`, which is new. Returns the SHA-256 of its files. Raises InvalidInput,
    TooLarge.
    """
    if _NAME.fullmatch(name) is None:
        raise InvalidInput(
            f"{name[:100]!r} cannot name an adapter.", code="invalid_adapter_name", param="name",
            hint="Use up to 200 letters, digits, dots, hyphens and underscores; do not begin with a dot.",
        )  # fmt: skip
    if not 2 <= config_bytes <= MAX_CONFIG_BYTES:
        raise InvalidInput(
            f"The configuration has {config_bytes:,} bytes; 2 to {MAX_CONFIG_BYTES:,} are allowed.",
            code="invalid_adapter", param="config",
        )  # fmt: skip
    folder.mkdir(mode=0o700)
    try:
        digest = await _write(config_bytes, body, folder, most)
        _check(folder, max_rank)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return digest


async def _write(config_bytes: int, body: AsyncIterator[bytes], folder: Path, most: int) -> str:
    digest, config, total = hashlib.sha256(), bytearray(), 0
    with (folder / WEIGHTS).open("wb") as weights:
        async for part in body:
            total += len(part)
            if total > most:
                raise TooLarge(f"The adapter is larger than {most:,} bytes.", param="body")
            digest.update(part)
            missing = config_bytes - len(config)
            config += part[:missing]
            weights.write(part[missing:])
    if len(config) < config_bytes:
        raise InvalidInput("The body ended within the configuration.", code="invalid_adapter", param="body")
    (folder / CONFIG).write_bytes(config)
    return digest.hexdigest()


def _check(folder: Path, max_rank: int) -> None:
    try:
        config = json.loads((folder / CONFIG).read_bytes())
        ranks = [int(config["r"]), *map(int, (config.get("rank_pattern") or {}).values())]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"{CONFIG} is not that of a LoRA adapter: {type(error).__name__}.",
            code="invalid_adapter", param="config", hint="Send a LoRA adapter as PEFT writes it.",
        ) from error  # fmt: skip
    if not 1 <= min(ranks) <= max(ranks) <= max_rank:
        raise InvalidInput(
            f"The adapter has rank {max(ranks)}; this engine host takes 1 to {max_rank}.",
            code="sampler_host_too_small", param="config",
        )  # fmt: skip
    if not read_header(folder / WEIGHTS):
        raise InvalidInput(f"{WEIGHTS} has no weights.", code="invalid_adapter", param="body")
