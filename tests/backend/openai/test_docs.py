"""docs/openai-compatibility.md names every hyperparameter, status and field that it has to."""

from pathlib import Path

import pytest

from backend.openai.job_view import STATUSES
from reinforge.imports import hyperparameters
from reinforge.schemas.openai_chat import ChatRequest
from reinforge.schemas.openai_jobs import Hyperparameters

GUIDE = (Path(__file__).parents[3] / "docs" / "openai-compatibility.md").read_text()
HONOURED = {
    "model", "messages", "n", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "seed", "stream",
    "stream_options", "logprobs", "top_logprobs", "tools", "tool_choice",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", sorted({*Hyperparameters.model_fields, *hyperparameters.OURS, *hyperparameters.ALIASES})
)
def test_every_hyperparameter_is_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


def test_every_status_is_in_the_guide() -> None:
    assert all(f"`{status}`" in GUIDE for status in (*STATUSES.values(), "pausing", "paused"))


def test_every_field_of_a_chat_that_is_not_honoured_is_in_the_guide() -> None:
    assert [name for name in set(ChatRequest.model_fields) - HONOURED if f"`{name}`" not in GUIDE] == []
