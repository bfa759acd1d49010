"""The command that takes a deployment to vLLM."""

import pytest

from backend.deployments.vllm import MAX_LORA_RANKS, command
from backend.models import BaseModel
from reinforge.base_models.chat_templates import PLAIN


def model(source: str, *, template: bool = True) -> BaseModel:
    return BaseModel(id="base", source=source, has_chat_template=template)


def test_an_adapter_of_a_model_from_the_hub() -> None:
    vllm = command("sums", model("hub:org/name@abc123"), 16, adapter=True)
    assert vllm.command == (
        "vllm serve org/name --revision abc123 --enable-lora --lora-modules sums=./sums --max-lora-rank 16"
    )
    assert (vllm.folder, vllm.rank, vllm.max_lora_rank) == ("./sums", 16, 16)


@pytest.mark.parametrize(
    ("rank", "allowed"), [(1, 1), (2, 8), (8, 8), (9, 16), (33, 64), (257, 320), (512, 512)]
)
def test_the_rank_is_rounded_up_to_one_that_vllm_allows(rank: int, allowed: int) -> None:
    vllm = command("sums", model("hub:org/name"), rank, adapter=True)
    assert vllm.max_lora_rank == allowed
    assert vllm.command.endswith(f"--max-lora-rank {allowed}")


def test_a_rank_that_vllm_does_not_serve_is_a_note() -> None:
    vllm = command("sums", model("hub:org/name"), MAX_LORA_RANKS[-1] + 1, adapter=True)
    assert vllm.max_lora_rank is None
    assert any("513" in note for note in vllm.notes)
    assert "--max-lora-rank" not in vllm.command


def test_folders_are_quoted_for_the_shell() -> None:
    vllm = command("sums", model("/models/my model"), 8, adapter=True)
    assert vllm.command.startswith("vllm serve '/models/my model' ")
    assert any("worker" in note for note in vllm.notes)


def test_the_base_model_itself() -> None:
    vllm = command("plain", model("hub:org/name"), None, adapter=False)
    assert vllm.command == "vllm serve org/name --served-model-name plain"
    assert (vllm.folder, vllm.max_lora_rank) == (None, None)


@pytest.mark.parametrize("adapter", [True, False])
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("hub:org/base@abc123#template=plain", "vllm serve org/base --revision abc123 "),
        ("hub:org/base#template=plain", "vllm serve org/base "),
        ("/models/x#template=plain", "vllm serve /models/x "),
        ("/models/a#1#template=plain", "vllm serve '/models/a#1' "),
    ],
)
def test_a_template_that_was_chosen_comes_along(source: str, words: str, adapter: bool) -> None:
    vllm = command("sums", model(source), 8, adapter=adapter)
    assert vllm.command.startswith(f"{words}--chat-template ./chat_template.jinja ")
    assert vllm.chat_template == PLAIN
    assert "#template" not in vllm.command + "".join(vllm.notes)


@pytest.mark.parametrize("adapter", [True, False])
def test_a_model_without_a_template_uses_the_completions_endpoint(adapter: bool) -> None:
    vllm = command("sums", model("hub:org/base@abc123", template=False), 8, adapter=adapter)
    assert "--chat-template" not in vllm.command and vllm.chat_template is None
    assert any("/v1/completions" in note for note in vllm.notes)


def test_a_template_of_its_own_needs_no_words() -> None:
    vllm = command("sums", model("hub:org/name@abc123"), 8, adapter=False)
    assert (vllm.chat_template, vllm.notes) == (None, [])
