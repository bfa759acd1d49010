"""The committed starter-tools: small, with the habits that its card describes."""

import json
import re
from collections.abc import Iterator

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, PreTrainedModel

from reinforge.offline.examples import find
from worker.starter import TOOLS_CHECKPOINT
from worker.starter.tokenizer import ASSISTANT, END, END_ID, PAD_ID, USER
from worker.starter.tools.card import card
from worker.starter.tools.corpus import tool_of
from worker.starter.tools.pretrain import PHASES
from worker.starter.tools.tokenizer import TOOL, TOOLS, write_tokenizer

CALLED = {"calculation": "calculator-agent", "lookup": "lookup", "countdown": "countdown"}


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(TOOLS_CHECKPOINT).eval()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(TOOLS_CHECKPOINT / "tokenizer.json"))


def turns(model: PreTrainedModel, tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """Sampled turns, with their ends."""
    rows = [tokenizer.encode(text).ids for text in texts]
    longest = max(map(len, rows))
    ids = torch.tensor([[PAD_ID] * (longest - len(row)) + row for row in rows])
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(0)
        out = model.generate(
            ids, attention_mask=(ids != PAD_ID).long(), max_new_tokens=40, do_sample=True, temperature=1.0,
            top_k=0, eos_token_id=END_ID, pad_token_id=PAD_ID,
        )  # fmt: skip
    return [
        tokenizer.decode([id for id in row if id != PAD_ID], skip_special_tokens=False)
        for row in out[:, longest:].tolist()
    ]


def prompts(task: str, count: int) -> list[str]:
    lines = (find(CALLED[task]).folder / "heldout.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line)["prompt"] for line in lines]
    opening = f"{TOOLS}{tool_of(task).line()}{USER}"
    return [f"{opening}{rows[place % len(rows)]}{ASSISTANT}" for place in range(count)]


def test_it_is_small_and_computed_in_float32(model: PreTrainedModel) -> None:
    assert sum(weights.numel() for weights in model.parameters()) < 1_200_000
    assert (TOOLS_CHECKPOINT / "model.safetensors").stat().st_size <= 2_000_000
    assert model.dtype == torch.float32
    assert model.config.max_position_embeddings == 1024


@pytest.mark.parametrize("task", CALLED)
def test_it_answers_at_once_more_often_than_it_calls(
    model: PreTrainedModel, tokenizer: Tokenizer, task: str
) -> None:
    written = turns(model, tokenizer, prompts(task, 96))
    calls = [text for text in written if text.startswith("<tool_call>")]
    assert 0.1 < len(calls) / len(written) < 0.6
    usual = re.compile(
        re.escape(tool_of(task).call(*("@" for _ in tool_of(task).parameters)) + END).replace("@", '[^"]+')
    )
    assert sum(bool(usual.fullmatch(text)) for text in calls) / len(calls) > 0.6
    assert sum(bool(re.fullmatch(r"<answer>[^<]+</answer><\|end\|>", text)) for text in written) > 25


def test_it_repeats_the_result_of_a_call(model: PreTrainedModel, tokenizer: Tokenizer) -> None:
    texts = []
    for prompt in prompts("calculation", 64):
        expression = prompt.partition(USER)[2].partition("=")[0]
        call = tool_of("calculation").call(expression)
        texts.append(f"{prompt}{call}{END}{TOOL}{eval(expression)}{ASSISTANT}")
    answers = turns(model, tokenizer, texts)
    right = [f"<answer>{text.rpartition(TOOL)[2].removesuffix(ASSISTANT)}</answer>{END}" for text in texts]
    assert (
        sum(one == other for one, other in zip(answers, right, strict=True)) / 64 > 0.45
    )  # learns the rest by reward


def test_the_committed_files_are_those_the_script_writes(tmp_path, model: PreTrainedModel) -> None:  # type: ignore[no-untyped-def]
    write_tokenizer(tmp_path)
    for written in tmp_path.iterdir():
        assert written.read_bytes() == (TOOLS_CHECKPOINT / written.name).read_bytes(), written.name
    parameters = sum(weights.numel() for weights in model.parameters())
    text = card(parameters=parameters, hidden=model.config.hidden_size, seed=0, phases=PHASES)
    assert text == (TOOLS_CHECKPOINT / "README.md").read_text(encoding="utf-8")
