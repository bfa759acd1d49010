"""One prompt, one completion."""

from worker.environment.base import Prompt, Segment


class SingleTurn:
    def start(self, prompt: Prompt) -> tuple[Segment, ...]:
        return (Segment(prompt.token_ids, by="environment"),)

    def step(self, prompt: Prompt, segments: tuple[Segment, ...]) -> None:
        return None
