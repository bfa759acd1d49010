"""Environment of one prompt and one completion."""

from collections.abc import Sequence
from dataclasses import replace

from worker.environment.base import Conversation


class SingleTurn:
    max_turns = 1

    async def begin(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        return list(conversations)

    def room(self, conversation: Conversation) -> None:
        return None

    async def answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        return [replace(conversation, finish_reason=conversation.turn_end) for conversation in conversations]

    def close(self) -> None: ...
