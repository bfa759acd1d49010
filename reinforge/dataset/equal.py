"""Equality of prompts, ignoring white space and case."""

import hashlib
from collections.abc import Sequence

from reinforge.dataset.prompts import Message


def normalised(messages: Sequence[Message]) -> str:
    conversation = [message for message in messages if message["role"] not in ("system", "developer")]
    alone = len(conversation) == 1 and conversation[0]["role"] == "user"
    texts = (
        str(message["content"]) if alone else f"{message['role']}: {message['content']}"
        for message in conversation
    )
    return " ".join(" ".join(texts).casefold().split())


def prompt_key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
