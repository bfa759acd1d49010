"""What checkpoints say about texts: probabilities of labels, scores, log-probabilities of a reference answer."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from worker.reward_models.load import Loaded, LoadFailed


@torch.inference_mode()
def label_probabilities(
    loaded: Loaded, texts: Sequence[str], pairs: Sequence[str] | None, *, max_tokens: int, batch_size: int
) -> list[dict[str, float]]:
    """Label → probability for each text, or pair of texts (NLI); exclusive unless the checkpoint says otherwise."""
    config = loaded.model.config
    names = [str(config.id2label[index]) for index in range(config.num_labels)]
    if len(names) < 2:
        raise LoadFailed("the checkpoint has one output and no labels: it is a reward_model")
    found = []
    for rows in _batches(len(texts), batch_size):
        second = None if pairs is None else [pairs[row] for row in rows]
        logits = _logits(loaded, [texts[row] for row in rows], second, max_tokens)
        many = config.problem_type == "multi_label_classification"
        shares = logits.sigmoid() if many else logits.softmax(-1)
        found += [dict(zip(names, each, strict=True)) for each in shares.tolist()]
    return found


@torch.inference_mode()
def scores(loaded: Loaded, texts: Sequence[str], *, max_tokens: int, batch_size: int) -> list[float]:
    """The one output of a reward model for each text."""
    if loaded.model.config.num_labels != 1:
        raise LoadFailed(
            f"the checkpoint has {loaded.model.config.num_labels} outputs, a reward model one: it is a classifier"
        )
    found: list[float] = []
    for rows in _batches(len(texts), batch_size):
        found += _logits(loaded, [texts[row] for row in rows], None, max_tokens)[:, 0].tolist()
    return found


@torch.inference_mode()
def reference_logprobs(
    loaded: Loaded, contexts: Sequence[str], references: Sequence[str], *, max_tokens: int, batch_size: int
) -> list[tuple[float, int]]:
    """(sum of log-probabilities, tokens) of each reference after its context, under the model."""
    ids = [_joined(loaded, c, r, max_tokens) for c, r in zip(contexts, references, strict=True)]
    found: list[tuple[float, int]] = []
    for rows in _batches(len(ids), batch_size):
        longest = max(len(ids[row][0]) for row in rows)
        tokens = torch.zeros((len(rows), longest), dtype=torch.int64)
        mask = torch.zeros_like(tokens)
        for place, row in enumerate(rows):
            whole, _ = ids[row]
            tokens[place, : len(whole)], mask[place, : len(whole)] = torch.tensor(whole), 1
        tokens, mask = tokens.to(loaded.device), mask.to(loaded.device)
        logits = loaded.model(input_ids=tokens, attention_mask=mask).logits.float()
        for place, row in enumerate(rows):
            whole, count = ids[row]
            span = slice(len(whole) - count - 1, len(whole) - 1)
            chosen = tokens[place, len(whole) - count : len(whole)]
            logprobs = logits[place, span].log_softmax(-1).gather(1, chosen[:, None])
            found.append((float(logprobs.double().sum()), count))
    return found


def conversation(
    loaded: Loaded,
    messages: Sequence[dict[str, Any]],
    tools: list[dict[str, Any]] | None,
    *,
    generation_prompt: bool,
) -> str:
    """In the checkpoint's own chat template; plain text, joined by blank lines, when it has none.

    Tools are shown where the template has a place for them.
    """
    if not loaded.tokenizer.chat_template:
        return "\n\n".join(str(message.get("content", "")) for message in messages)
    try:
        text: str = loaded.tokenizer.apply_chat_template(
            list(messages), tools=tools, tokenize=False, add_generation_prompt=generation_prompt
        )
    except Exception as error:  # a template is a program of the model's author
        raise LoadFailed(f"the checkpoint's chat template refuses the conversation: {error}") from error
    return text


def _logits(loaded: Loaded, texts: list[str], pairs: list[str] | None, max_tokens: int) -> Tensor:
    limit = min(max_tokens, loaded.longest or max_tokens)
    texts = [text or loaded.tokenizer.eos_token or " " for text in texts]  # a model cannot read nothing
    # A chat template writes its own special tokens; adding others would double the first.
    batch = loaded.tokenizer(
        texts, pairs, truncation=True, max_length=limit, padding=True, return_tensors="pt"
    )
    inputs = {name: value.to(loaded.device) for name, value in batch.items() if name in _INPUTS}
    logits: Tensor = loaded.model(**inputs).logits.float()
    return logits


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def _joined(loaded: Loaded, context: str, reference: str, max_tokens: int) -> tuple[list[int], int]:
    """Token ids of both, the context's beginning cut off where they do not fit, and the reference's length."""
    special = not loaded.tokenizer.chat_template
    before = loaded.tokenizer(context, add_special_tokens=special)["input_ids"]
    before = before or [loaded.tokenizer.eos_token_id or 0]
    after = loaded.tokenizer(reference, add_special_tokens=False)["input_ids"]
    room = min(max_tokens, loaded.longest or max_tokens) - len(after)
    if not after or room < 1:
        raise LoadFailed(f"a reference answer of {len(after)} tokens leaves no room for the prompt")
    return [*before[-room:], *after], len(after)


def _batches(count: int, size: int) -> Iterator[range]:
    for start in range(0, count, size):
        yield range(start, min(count, start + size))
