"""Label probabilities, scores and log-probabilities from checkpoints."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from worker.reward_models.load import LoadedRewardModel, ModelLoadFailed


@torch.inference_mode()
def label_probabilities(
    loaded: LoadedRewardModel,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    *,
    max_tokens: int,
    batch_size: int,
) -> list[dict[str, float]]:
    """Probability of each label, per text or pair of texts (NLI); they add up to 1 unless the checkpoint is
    multi-label.
    """
    config = loaded.model.config
    names = [str(config.id2label[index]) for index in range(config.num_labels)]
    if len(names) < 2:
        raise ModelLoadFailed("the checkpoint has one output and no labels: use the type reward_model")
    probabilities = []
    for logits in _logits(loaded, texts, pairs, max_tokens, batch_size):
        many = config.problem_type == "multi_label_classification"
        shares = logits.sigmoid() if many else logits.softmax(-1)
        probabilities += [dict(zip(names, row, strict=True)) for row in shares.tolist()]
    return probabilities


@torch.inference_mode()
def scores(
    loaded: LoadedRewardModel, texts: Sequence[str], *, max_tokens: int, batch_size: int
) -> list[float]:
    if loaded.model.config.num_labels != 1:
        raise ModelLoadFailed(
            f"the checkpoint has {loaded.model.config.num_labels} outputs, not one: use the type classifier"
        )
    values: list[float] = []
    for logits in _logits(loaded, texts, None, max_tokens, batch_size):
        values += logits[:, 0].tolist()
    return values


@torch.inference_mode()
def reference_logprobs(
    loaded: LoadedRewardModel,
    contexts: Sequence[str],
    references: Sequence[str],
    *,
    max_tokens: int,
    batch_size: int,
) -> list[tuple[float, int]]:
    """(sum of log-probabilities, number of tokens) of each reference after its context."""
    ids = loaded.texts.join(contexts, references, _room(loaded, max_tokens))
    _check_ids([row for row, _ in ids], loaded)
    results: list[tuple[float, int]] = []
    for rows in _batches(len(ids), batch_size):
        batch = [ids[row][0] for row in rows]
        tokens, mask = _filled(batch, 0, loaded), _filled([[1] * len(row) for row in batch], 0, loaded)
        logits = loaded.model(input_ids=tokens, attention_mask=mask).logits.float()
        for place, row in enumerate(rows):
            whole, count = ids[row]
            span = slice(len(whole) - count - 1, len(whole) - 1)
            chosen = tokens[place, len(whole) - count : len(whole)]
            logprobs = logits[place, span].log_softmax(-1).gather(1, chosen[:, None])
            results.append((float(logprobs.double().sum()), count))
    return results


def _logits(
    loaded: LoadedRewardModel,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    max_tokens: int,
    batch_size: int,
) -> Iterator[Tensor]:
    rows = loaded.texts.encode(texts, pairs, _room(loaded, max_tokens))
    token, kind = loaded.pad_ids
    _check_ids([*(ids for ids, _ in rows), [token or 0]], loaded)
    _check_types([*(types or [] for _, types in rows), [kind]], loaded)
    for places in _batches(len(rows), batch_size):
        ids = [rows[place][0] for place in places]
        inputs = {
            "input_ids": _filled(ids, token or 0, loaded),
            "attention_mask": _filled([[1] * len(row) for row in ids], 0, loaded),
        }
        types = [made for place in places if (made := rows[place][1]) is not None]
        if types:
            inputs["token_type_ids"] = _filled(types, kind, loaded)
        yield loaded.model(**inputs).logits.float()


def _filled(rows: Sequence[Sequence[int]], value: int, loaded: LoadedRewardModel) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor(
        [[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.int64, device=loaded.device
    )


def _check_ids(rows: Sequence[Sequence[int]], loaded: LoadedRewardModel) -> None:
    """Reject token ids beyond the vocabulary: on a GPU, they would end the process for all checkpoints."""
    embeddings: torch.nn.Embedding = loaded.model.get_input_embeddings()
    largest = max(map(max, filter(None, rows)), default=0)
    if largest >= embeddings.num_embeddings:
        raise ModelLoadFailed(
            f"its tokenizer returned token {largest}, but its weights have {embeddings.num_embeddings} tokens"
        )


def _check_types(rows: Sequence[Sequence[int]], loaded: LoadedRewardModel) -> None:
    kinds = getattr(loaded.model.config, "type_vocab_size", None)
    largest = max(map(max, filter(None, rows)), default=0)
    if kinds and largest >= kinds:
        raise ModelLoadFailed(f"its tokenizer returned token type {largest}, its weights have {kinds} types")


def _room(loaded: LoadedRewardModel, max_tokens: int) -> int:
    return min(max_tokens, loaded.longest or max_tokens)


def _batches(count: int, size: int) -> Iterator[range]:
    for start in range(0, count, size):
        yield range(start, min(count, start + size))
