"""Token limits of prompts and conversations."""

from reinforge.algorithm.selection import GuidedCorrection
from reinforge.environment_spec import AgentSpec, SingleTurnSpec, ToolsSpec
from reinforge.errors import JobFailure
from reinforge.spec import JobSpec

_ANY_CONTEXT = 2**31
_FRAME_TOKENS = 64
"""Allowance for tokens that a template adds to a turn or result, and for the note in a shortened result."""
_OBSERVATION_TOKENS = 4096
"""Token limit of the text that an environment returns for the prompt."""
_AGENT_TOKENS = 32_768
"""Token limit of an agent program's conversation with vLLM, which reserves memory for it."""


def prompt_limit(spec: JobSpec, context_length: int | None) -> int:
    rollout = spec.rollout
    context = context_limit(spec, context_length)
    room = context - rollout.max_completion_tokens
    if room < 1:
        raise JobFailure(
            f"The context of {context} tokens leaves no room for a prompt besides completions of up to "
            f"{rollout.max_completion_tokens} tokens.",
            code="data_error",
            hint="Lower rollout.max_completion_tokens, or raise environment.max_context_tokens if it is set.",
        )
    return min(rollout.max_prompt_tokens or room, room)


def context_limit(spec: JobSpec, context_length: int | None) -> int:
    """Token limit of a conversation, set by model and environment, for every engine."""
    own = None if isinstance(spec.environment, SingleTurnSpec) else spec.environment.max_context_tokens
    return min(context_length or _ANY_CONTEXT, own or _ANY_CONTEXT)


def conversation_limit(spec: JobSpec, context_length: int | None, longest_prompt: int) -> int:
    """Token limit of a conversation with its prompt, for which a vLLM server reserves memory."""
    environment, completion = spec.environment, spec.rollout.max_completion_tokens
    if isinstance(environment, SingleTurnSpec):
        return longest_prompt + completion
    context = context_limit(spec, context_length)
    if spec.rollout.engine != "vllm" or environment.max_context_tokens is not None:
        return context
    if isinstance(environment, AgentSpec):
        return min(context, max(_AGENT_TOKENS, longest_prompt + completion))
    return min(context, longest_prompt + completion + _results(environment))


def _results(environment: ToolsSpec) -> int:
    """Limit of the tokens that tools and a simulated user add to a conversation."""
    observes = any(source.type in ("class", "openenv") for source in environment.sources)
    observation = _OBSERVATION_TOKENS if observes else 0
    results = environment.max_tool_calls * (environment.max_result_tokens + _FRAME_TOKENS)
    replies = environment.max_turns * environment.max_result_tokens if environment.reply is not None else 0
    return observation + results + replies + environment.max_turns * _FRAME_TOKENS


def continuation_room(spec: JobSpec) -> int:
    selection = spec.algorithm.selection
    if not isinstance(selection, GuidedCorrection):
        return 0
    return spec.rollout.max_completion_tokens + selection.max_tokens
