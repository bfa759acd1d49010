"""Token limits of prompts."""

from reinforge.algorithm.selection import GuidedCorrection
from reinforge.errors import JobFailure
from reinforge.spec import JobSpec


def prompt_limit(spec: JobSpec, context_length: int | None) -> int:
    """Longest prompt in tokens: what the job allows and the model's context leaves."""
    rollout = spec.rollout
    room = (context_length or 2**31) - rollout.max_completion_tokens
    if room < 1:
        raise JobFailure(
            f"The model's context of {context_length} tokens leaves no room for a prompt beside completions of "
            f"{rollout.max_completion_tokens}.",
            code="data_error",
            hint="Lower rollout.max_completion_tokens.",
        )
    return min(rollout.max_prompt_tokens or room, room)


def continuation_room(spec: JobSpec) -> int:
    """Tokens behind a prompt that are sampled from again, as one prompt: completions with what is put behind them."""
    selection = spec.algorithm.selection
    if not isinstance(selection, GuidedCorrection):
        return 0
    return spec.rollout.max_completion_tokens + selection.max_tokens
