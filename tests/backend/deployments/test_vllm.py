"""The command that takes a deployment to vLLM."""

import pytest

from backend.deployments.vllm import MAX_LORA_RANKS, command
from backend.models import BaseModel


def model(source: str) -> BaseModel:
    return BaseModel(id="base", source=source)


def test_an_adapter_of_a_model_from_the_hub() -> None:
    found = command("sums", model("hub:org/name@abc123"), 16, adapter=True)
    assert found.command == (
        "vllm serve org/name --revision abc123 --enable-lora --lora-modules sums=./sums --max-lora-rank 16"
    )
    assert (found.folder, found.rank, found.max_lora_rank) == ("./sums", 16, 16)


@pytest.mark.parametrize(
    ("rank", "allowed"), [(1, 1), (2, 8), (8, 8), (9, 16), (33, 64), (257, 320), (512, 512)]
)
def test_the_rank_is_rounded_up_to_one_that_vllm_allows(rank: int, allowed: int) -> None:
    found = command("sums", model("hub:org/name"), rank, adapter=True)
    assert found.max_lora_rank == allowed
    assert found.command.endswith(f"--max-lora-rank {allowed}")


def test_a_rank_that_vllm_does_not_serve_is_told() -> None:
    found = command("sums", model("hub:org/name"), MAX_LORA_RANKS[-1] + 1, adapter=True)
    assert found.max_lora_rank is None
    assert any("513" in note for note in found.notes)
    assert "--max-lora-rank" not in found.command


def test_folders_are_quoted_for_the_shell() -> None:
    found = command("sums", model("/models/my model"), 8, adapter=True)
    assert found.command.startswith("vllm serve '/models/my model' ")
    assert any("worker" in note for note in found.notes)


def test_the_base_model_itself() -> None:
    found = command("plain", model("hub:org/name"), None, adapter=False)
    assert found.command == "vllm serve org/name --served-model-name plain"
    assert (found.folder, found.max_lora_rank) == (None, None)
