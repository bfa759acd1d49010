"""The committed checkpoint: small, loadable as any other, and with the two habits it is described by."""

from collections.abc import Iterator

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, PreTrainedModel

from worker.starter import CHECKPOINT
from worker.starter.corpus import HASTY_SHARE, HASTY_WRONG_SHARE, WORKED_WRONG_SHARE
from worker.starter.figures import Figures, SampleShares
from worker.starter.measure import held_out_pairs, measure, measure_pairs, sample
from worker.starter.phrasings import DEMO, MEASURED

EXPECTED = HASTY_SHARE * (1 - HASTY_WRONG_SHARE) + (1 - HASTY_SHARE) * (1 - WORKED_WRONG_SHARE)
"""Share of right answers of a model that copies the corpus: 0.5."""


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT).eval()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json"))


@pytest.fixture(scope="module")
def measured(model: PreTrainedModel, tokenizer: Tokenizer) -> SampleShares:
    return measure(model, tokenizer, samples=400, seed=11)


def test_it_is_small(model: PreTrainedModel) -> None:
    assert sum(weights.numel() for weights in model.parameters()) < 1_200_000
    assert (CHECKPOINT / "model.safetensors").stat().st_size <= 4_000_000


def test_it_is_the_declared_architecture_with_the_tokenizers_own_ids(
    model: PreTrainedModel, tokenizer: Tokenizer
) -> None:
    config = model.config
    assert config.architectures == ["Qwen3ForCausalLM"]
    assert config.tie_word_embeddings
    assert config.vocab_size == tokenizer.get_vocab_size()
    assert config.eos_token_id == model.generation_config.eos_token_id == tokenizer.token_to_id("<|end|>")
    assert config.pad_token_id == model.generation_config.pad_token_id == tokenizer.token_to_id("<|pad|>")


def test_held_out_accuracy_leaves_room_to_improve(measured: SampleShares) -> None:
    # The corpus gives EXPECTED; 0.1 covers sampling error (0.025 at 400 samples) and what the model misses.
    assert abs(measured.accuracy - EXPECTED) < 0.1


def test_it_works_some_sums_out_and_is_right_when_it_does(measured: SampleShares) -> None:
    assert 0.15 < measured.worked_share < 0.35
    assert measured.worked_accuracy > 0.85
    assert measured.hasty_accuracy < 0.5
    assert 23 < measured.mean_tokens < 31


def test_completions_end_by_themselves(model: PreTrainedModel, tokenizer: Tokenizer) -> None:
    completions = sample(model, tokenizer, held_out_prompts(64, seed=12), seed=12)
    ended = sum(ids[-1] == tokenizer.token_to_id("<|end|>") for ids in completions)
    assert ended >= 62


def test_sampling_is_fixed_by_its_seed(model: PreTrainedModel, tokenizer: Tokenizer) -> None:
    prompts = held_out_prompts(8, seed=13)
    assert sample(model, tokenizer, prompts, seed=1) == sample(model, tokenizer, prompts, seed=1)
    assert sample(model, tokenizer, prompts, seed=1) != sample(model, tokenizer, prompts, seed=2)


@pytest.mark.parametrize(
    ("asking", "a", "b"),
    [
        ("What is {a}+{b}?", 3, 4),
        ("{a} + {b}", 3, 4),
        ("{a}+{b}=?", 3, 4),
        ("Please add {a} and {b}", 17, 25),
        ("what is {a} plus {b}", 17, 25),
    ],
)
def test_a_newcomer_gets_an_answer(
    model: PreTrainedModel, tokenizer: Tokenizer, asking: str, a: int, b: int
) -> None:
    """One sum, many samples: in the two habits, and right when worked, as often as `a+b=`."""
    figures = measure_pairs(model, tokenizer, [(a, b)] * 160, asking=asking, seed=14)
    # 160 samples, some 40 of them worked: bounds five standard errors away. Without the phrasings all were near 0.
    assert figures.accuracy > 0.2
    assert 0.1 < figures.worked_share < 0.45
    assert figures.worked_accuracy > 0.65


def test_the_figures_are_those_of_the_checkpoint(measured: SampleShares) -> None:
    """The file holds other samples of the same model."""
    figures = Figures.read(CHECKPOINT)
    assert tuple(figures.phrasings) == MEASURED
    for name in ("accuracy", "worked_share", "hasty_accuracy", "worked_accuracy"):
        assert abs(getattr(figures.base, name) - getattr(measured, name)) < 0.1, name
    assert abs(figures.base.mean_tokens - measured.mean_tokens) < 3


def test_every_phrasing_is_answered_as_well_as_the_demos() -> None:
    figures = Figures.read(CHECKPOINT)
    for asking, one in figures.phrasings.items():
        assert abs(one.accuracy - figures.base.accuracy) < 0.1, asking
        assert abs(one.worked_share - figures.base.worked_share) < 0.1, asking


def held_out_prompts(count: int, seed: int) -> list[str]:
    return [DEMO.format(a=a, b=b) for a, b in held_out_pairs(count, seed)]
