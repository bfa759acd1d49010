"""Which prompts are the same: equal but for white space and capitals."""

import hashlib
from collections.abc import Sequence

from reinforge.dataset.prompts import Message


def normalised(messages: Sequence[Message]) -> str:
    """The prompt in small letters, every white space one blank, messages by their roles; a system message left out.

    The system message of a job stands before every prompt, so it tells none apart.
    """
    conversation = [message for message in messages if message["role"] not in ("system", "developer")]
    alone = len(conversation) == 1 and conversation[0]["role"] == "user"
    texts = (
        str(message["content"]) if alone else f"{message['role']}: {message['content']}"
        for message in conversation
    )
    return " ".join(" ".join(texts).casefold().split())


def prompt_key(text: str) -> int:
    """64 bits of a hash of a normalised prompt; a million prompts share one with a chance of 1 in 30 million."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
