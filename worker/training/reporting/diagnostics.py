"""Metrics for the diagnosis of a step: groups, tokens, sampler, properties that may explain the reward."""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from reinforge.evaluation.final_answer import is_right, reference
from reinforge.spec import JobSpec
from worker.algorithm.loss.kl import k3
from worker.rollout.collect import Rollout
from worker.training.batch import StepBatch
from worker.training.credit import Credit
from worker.training.prompts.frontier import passed
from worker.training.reporting.off_language import off_language_share
from worker.training.update import Update

EQUAL_LENGTHS = 0.02
"""Coefficient of variation below which a group's lengths count as equal."""
NO_ADVANTAGE = 1e-6
MOST_TOKENS = 512
MOST_CHARACTERS = 4_000
MOST_VALUES = 200_000
"""Maximum number of tokens for quantiles; of more, every n-th is used."""
_NGRAM = 3
_NO_DIGITS = str.maketrans("", "", "0123456789")
_NO_MARKUP = str.maketrans("", "", "<>{}[]()#*_`~|=\\/\"'-+:;")

Values = dict[str, float | None]


def diagnostics(spec: JobSpec, batch: StepBatch, credit: Credit, update: Update) -> Values:
    mask = batch.rows.mask
    trained = credit.trained & mask
    advantages = credit.advantages if credit.advantages.dim() == 2 else credit.advantages[:, None]
    sizes = advantages.expand(mask.shape)[trained].abs()
    low, high = quantiles(update.scores.entropies[mask], (0.1, 0.9))
    return {
        "entropy/p10": low,
        "entropy/p90": high,
        "advantage/zero_share": _mean((sizes < NO_ADVANTAGE).double()) if len(sizes) else 1.0,
        "advantage/abs_mean": _mean(sizes) if len(sizes) else 0.0,
        "policy/log_ratio_max": update.log_ratio_max,
        **_sampler(update.scores.logprobs - batch.sampler_logprobs, mask & update.scored[:, None]),
        **_lengths(spec, batch, credit.rewards),
        **_witnesses(batch, credit.rewards, spec.data.columns.answer),
        **_shares(batch, credit),
    }


def within_groups(rewards: Tensor, other: Tensor, group: Tensor) -> float | None:
    """Correlation of the reward with another number, (N,) each, both centred on their group's mean. None if
    either is constant.
    """
    scored = ~(rewards.isnan() | other.isnan())
    if not bool(scored.any()):
        return None
    place = group[scored] - group[scored].min()
    count = place.bincount().double().clamp(min=1)

    def centred(values: Tensor) -> Tensor:
        values = values[scored].double()
        mean: Tensor = place.bincount(values) / count
        return values - mean[place]

    return _cosine(centred(rewards), centred(other))


def quantiles(values: Tensor, at: Sequence[float]) -> list[float | None]:
    if not len(values):
        return [None] * len(at)
    stride = 1 + len(values) // MOST_VALUES
    places = torch.tensor(at, dtype=torch.float64)
    return [float(value) for value in values[::stride].double().quantile(places)]


def _cosine(x: Tensor, y: Tensor) -> float | None:
    spread = float((x.square().sum() * y.square().sum()).sqrt())
    return float((x * y).sum()) / spread if spread > 1e-9 else None


def _mean(values: Tensor) -> float | None:
    return float(values.double().mean()) if len(values) else None


def _sampler(log_ratio: Tensor, mask: Tensor) -> Values:
    """Metrics of the difference between trainer and sampler. log_ratio: trainer minus sampler, (N, T)."""
    gaps = log_ratio[mask].double()
    if not len(gaps):
        return {"sampler/effective_share": None, "sampler/kl": None}
    weights = gaps.clamp(-20, 20).exp()
    effective = weights.sum().square() / (len(weights) * weights.square().sum())
    return {
        "sampler/effective_share": float(effective),
        "sampler/kl": float(k3(-gaps, torch.ones_like(gaps)).mean()),
    }


def _lengths(spec: JobSpec, batch: StepBatch, rewards: Tensor) -> Values:
    lengths, group = batch.rows.lengths.double(), batch.rows.group
    right = passed(rewards, spec.evaluation.pass_above)
    groups = [lengths[group == number] for number in torch.unique(group).tolist()]
    spreads = torch.stack([(one.std(unbiased=False) / one.mean().clamp(min=1e-9)) for one in groups])
    return {
        "completions/length_p95": float(lengths.quantile(0.95)),
        "completions/length_right_mean": _mean(lengths[right == 1]),
        "completions/length_wrong_mean": _mean(lengths[right == 0]),
        "groups/length_variation": float(spreads.mean()),
        "groups/equal_length_share": float((spreads < EQUAL_LENGTHS).double().mean()),
    }


def _witnesses(batch: StepBatch, rewards: Tensor, column: str | None) -> Values:
    rollouts, group = batch.rollouts, batch.rows.group
    repeated = torch.tensor([_repeated_share(rollout.token_ids) for rollout in rollouts]).double()
    digits = torch.tensor([_removed_share(rollout.text, _NO_DIGITS) for rollout in rollouts]).double()
    markup = torch.tensor([_removed_share(rollout.text, _NO_MARKUP) for rollout in rollouts]).double()
    values: Values = {
        "completions/repeated_share": float(repeated.mean()),
        "completions/digit_share": float(digits.mean()),
        "completions/markup_share": float(markup.mean()),
        "completions/duplicate_share": _duplicates(rollouts),
        "completions/off_language_share": off_language_share(rollouts),
        "reward/repetition_correlation": within_groups(rewards, repeated, group),
        "reward/digit_correlation": within_groups(rewards, digits, group),
        "reward/markup_correlation": within_groups(rewards, markup, group),
    }
    if column is not None:
        right = _right(rollouts, column)
        comparable = ~right.isnan()
        values["completions/answer_share"] = _mean(right[comparable])
        values["reward/answer_correlation"] = within_groups(rewards, right, group)
    return values


def _right(rollouts: Sequence[Rollout], column: str) -> Tensor:
    """(N,) float64: 1 if the completion ends in the declared answer, 0 if not, NaN without a comparable answer."""
    answers = [reference(rollout.prompt.item.get(column)) for rollout in rollouts]
    right = [
        torch.nan if answer is None else float(is_right(rollout.text, answer))
        for rollout, answer in zip(rollouts, answers, strict=True)
    ]
    return torch.tensor(right, dtype=torch.float64)


def _repeated_share(token_ids: Sequence[int]) -> float:
    ids = token_ids[:MOST_TOKENS]
    grams = len(ids) - _NGRAM + 1
    return 1 - len(set(zip(ids, ids[1:], ids[2:], strict=False))) / grams if grams > 0 else 0.0


def _removed_share(text: str, removed: dict[int, int | None]) -> float:
    head = text[:MOST_CHARACTERS]
    return 1 - len(head.translate(removed)) / len(head) if head else 0.0


def _duplicates(rollouts: Sequence[Rollout]) -> float:
    counts = Counter(rollout.prompt_no for rollout in rollouts)
    distinct = len({(rollout.prompt_no, rollout.token_ids) for rollout in rollouts})
    return 1 - distinct / max(1, sum(counts.values()))


def _shares(batch: StepBatch, credit: Credit) -> Values:
    """Correlation of each reward with the advantage, and with the weighted sum of the other rewards."""
    names, values = batch.rows.names, batch.rows.values
    if len(names) < 2:
        return {}
    advantage = credit.advantages
    if advantage.dim() == 2:
        count = batch.rows.mask.sum(1).clamp(min=1)
        advantage = advantage.sum(1) / count
    advantage = torch.where(credit.keep, advantage.double(), torch.nan)
    result: Values = {}
    for place, name in enumerate(names):
        others = values.clone()
        others[:, place] = 0
        column = values[:, place]
        result[f"reward/{name}/advantage_correlation"] = within_groups(column, advantage, batch.rows.group)
        result[f"reward/{name}/others_correlation"] = within_groups(
            column, (others * batch.rows.weights).sum(1), batch.rows.group
        )
    return result
