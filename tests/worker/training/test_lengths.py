"""How long prompts and conversations may be."""

from typing import Any

import pytest

from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from tests.support.small_jobs import small_spec
from worker.training.prompts.lengths import conversation_limit, prompt_limit

ADD = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'
GAME = """
class Game:
    def reset(self, **row):
        '''Begin.'''

    def play(self) -> int:
        '''Play.'''
        return 1
"""
CONTEXT = 100_000


def tools(kind: str = "python", source: str = ADD, **limits: Any) -> dict[str, Any]:
    limits = {"max_turns": 2, "max_tool_calls": 3, "max_result_tokens": 100} | limits
    return {"type": "tools", "sources": [{"type": kind, "source": source}], **limits}


def spec(environment: dict[str, Any], engine: str = "vllm") -> JobSpec:
    return small_spec(
        environment=environment,
        rollout__engine=engine,
        rollout__max_completion_tokens=50,
        rollout__max_prompt_tokens=None,
    )


def test_vllm_is_started_for_what_the_limits_of_tools_allow() -> None:
    limit = conversation_limit(spec(tools()), CONTEXT, longest_prompt=40)
    assert 40 + 50 + 3 * 100 < limit < 1000
    assert conversation_limit(spec(tools(max_tool_calls=6)), CONTEXT, 40) - limit >= 300
    assert (
        conversation_limit(spec(tools("class", GAME)), CONTEXT, 40) > limit
    )  # its prompt grows by an observation
    assert conversation_limit(spec(tools()), 200, 40) == 200
    user = {"type": "python", "source": "def reply(messages): ..."}
    assert conversation_limit(spec(tools(reply=user)), CONTEXT, 40) - limit == 2 * 100


def test_other_engines_need_no_limit_but_the_context() -> None:
    assert conversation_limit(spec(tools(), "transformers"), CONTEXT, 40) == CONTEXT
    assert conversation_limit(spec({"type": "single_turn"}), CONTEXT, 40) == 90


def test_programs_get_the_context_up_to_a_limit() -> None:
    assert conversation_limit(spec({"type": "agent"}), CONTEXT, 40) == 32_768
    assert conversation_limit(spec({"type": "agent"}), 4096, 40) == 4096
    assert conversation_limit(spec({"type": "agent"}, "transformers"), CONTEXT, 40) == CONTEXT


@pytest.mark.parametrize("engine", ["vllm", "transformers"])
@pytest.mark.parametrize(
    "environment", [tools(max_context_tokens=70), {"type": "agent", "max_context_tokens": 70}]
)
def test_a_limit_of_the_job_counts_everywhere(environment: dict[str, Any], engine: str) -> None:
    job = spec(environment, engine)
    assert conversation_limit(job, CONTEXT, 10) == 70
    assert prompt_limit(job, CONTEXT) == 20
    assert conversation_limit(job, 60, 10) == 60


def test_a_limit_without_room_for_a_prompt_is_named() -> None:
    with pytest.raises(JobFailure, match="context of 50 tokens") as failure:
        prompt_limit(spec(tools(max_context_tokens=50)), CONTEXT)
    assert "environment.max_context_tokens" in str(failure.value.hint)
