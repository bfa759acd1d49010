"""Token limits of prompts."""

from reinforge.algorithm.selection import GuidedCorrection
from reinforge.errors import JobFailure
from reinforge.spec import JobSpec


def prompt_limit(spec: JobSpec, context_length: int | None) -> int:
    rollout = spec.rollout
    room = (context_length or 2**31) - rollout.max_completion_tokens
    if room < 1:
        raise JobFailure(
            f"The model's context of {context_length} tokens leaves no room for a prompt besides completions of "
            f"{rollout.max_completion_tokens}.",
            code="data_error",
            hint="Lower rollout.max_completion_tokens.",
        )
    return min(rollout.max_prompt_tokens or room, room)


def continuation_room(spec: JobSpec) -> int:
    selection = spec.algorithm.selection
    if not isinstance(selection, GuidedCorrection):
        return 0
    return spec.rollout.max_completion_tokens + selection.max_tokens
