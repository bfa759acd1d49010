"""Samples held-out additions, and counts right answers and those with a working."""

import random
import re
from collections.abc import Iterable, Sequence

import torch
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from worker.starter.corpus import LARGEST, is_held_out
from worker.starter.figures import SampleShares
from worker.starter.phrasings import DEMO
from worker.starter.tokenizer import END_ID, PAD_ID, prompt_text

MAX_NEW_TOKENS = 56

# pattern: over our own model's short answers, when the starter is made
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def held_out_pairs(count: int, seed: int) -> list[tuple[int, int]]:
    numbers = range(LARGEST + 1)
    pairs = [(a, b) for a in numbers for b in numbers if is_held_out(a, b)]
    return random.Random(seed).sample(pairs, count)


def sample(
    model: PreTrainedModel, tokenizer: Tokenizer, prompts: Sequence[str], *, seed: int
) -> list[list[int]]:
    rows = [tokenizer.encode(prompt_text(prompt)).ids for prompt in prompts]
    longest = max(map(len, rows))
    ids = torch.tensor([[PAD_ID] * (longest - len(row)) + row for row in rows])
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(seed)
        out = model.generate(
            ids,
            attention_mask=(ids != PAD_ID).long(),
            max_new_tokens=MAX_NEW_TOKENS,
            eos_token_id=END_ID,
            pad_token_id=PAD_ID,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
        )
    completions = out[:, longest:].tolist()
    return [row[: row.index(END_ID) + 1] if END_ID in row else row for row in completions]


def measure(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    *,
    asking: str = DEMO,
    samples: int = 800,
    seed: int = 0,
) -> SampleShares:
    return measure_pairs(model, tokenizer, held_out_pairs(samples, seed), asking=asking, seed=seed)


def measure_pairs(
    model: PreTrainedModel, tokenizer: Tokenizer, pairs: list[tuple[int, int]], *, asking: str, seed: int
) -> SampleShares:
    samples = len(pairs)
    completions = sample(model, tokenizer, [asking.format(a=a, b=b) for a, b in pairs], seed=seed)
    texts = [tokenizer.decode(ids, skip_special_tokens=True) for ids in completions]
    right = [_answer(text) == str(a + b) for text, (a, b) in zip(texts, pairs, strict=True)]
    worked = [text.startswith("<think>") for text in texts]
    return SampleShares(
        samples=samples,
        accuracy=sum(right) / samples,
        worked_share=sum(worked) / samples,
        hasty_accuracy=_share(ok for ok, w in zip(right, worked, strict=True) if not w),
        worked_accuracy=_share(ok for ok, w in zip(right, worked, strict=True) if w),
        mean_tokens=sum(map(len, completions)) / samples,
    )


def _answer(text: str) -> str | None:
    answers: list[str] = _ANSWER.findall(text)
    return answers[-1].strip() if answers else None


def _share(values: Iterable[bool]) -> float:
    items = list(values)
    return sum(items) / len(items) if items else 0.0
