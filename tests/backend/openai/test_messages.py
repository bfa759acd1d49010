"""Messages of refusals: OpenAI's clients print nothing else in their exceptions, so place and remedy are in them."""

from typing import Any

import httpx
import pytest

from tests.backend.openai.requests import body
from tests.backend.server import Backend


def message_of(answer: httpx.Response) -> str:
    assert answer.status_code >= 400, answer.text
    return str(answer.json()["error"]["message"])


def create(wire: httpx.Client, backend: Backend, **changes: Any) -> str:
    return message_of(wire.post("/fine_tuning/jobs", json=body(backend, **changes)))


def test_a_model_of_openai_names_the_models_that_are_here(wire: httpx.Client, rpc_backend: Backend) -> None:
    message = create(wire, rpc_backend, model="o4-mini-2025-04-16")
    assert "The model 'o4-mini-2025-04-16' does not exist" in message
    assert "`model` names a model of this server. Known: " in message
    assert "tiny" in message
    assert "Did you mean tiny?" in create(wire, rpc_backend, model="tinyy")


@pytest.mark.parametrize(
    ("hyperparameters", "explanation"),
    [
        ({"n_epochs": 2, "steps": 5}, "n_epochs counts passes over the training rows, steps counts updates"),
        (
            {"learning_rate_multiplier": 2, "learning_rate": 1e-5},
            "learning_rate_multiplier a multiple of the automatic",
        ),
        ({"compute_multiplier": 2, "completions_per_prompt": 4}, "compute_multiplier a multiple of 8"),
    ],
)
def test_two_fields_for_one_setting_are_refused(
    wire: httpx.Client, rpc_backend: Backend, hyperparameters: dict[str, Any], explanation: str
) -> None:
    message = create(wire, rpc_backend, hyperparameters=hyperparameters)
    assert "set the same thing. Keep only one of them: " in message
    assert explanation in message


def test_a_bad_row_is_named_by_line_and_column(wire: httpx.Client) -> None:
    file = ("x.jsonl", b'{"prompt":"a"}\n{"prompt":"caf\xe9"}\n')
    message = message_of(wire.post("/files", files={"file": file}, data={"purpose": "fine-tune"}))
    assert message.startswith("Line 2, column 15: "), message
