"""Hack witnesses: signs of reward hacking in held-out completions."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import correlation, fmean

from reinforge.diagnosis.verdict import FOLLOWS_LENGTH, IS_LENGTH, Verdict
from reinforge.report_card.figures import ANSWER, HELD_OUT, SampleReader
from reinforge.report_card.samples import CardSample, by_row
from reinforge.schemas.report_card import CardFigure, CardWitness

FEWEST = 20
_OF_VERDICT = ("reward_follows_length", "answers_disagree")
_FOLLOWED: tuple[tuple[str, str, SampleReader], ...] = (
    ("reward_follows_length", "length", lambda sample: float(sample.tokens)),
    ("reward_follows_digits", "the number of digits", lambda sample: float(sample.digits)),
    ("reward_follows_repetition", "repetition", lambda sample: sample.repetition),
)


def witnesses_of(
    samples: Sequence[CardSample],
    figures: Sequence[CardFigure],
    *,
    verdict: Verdict | None = None,
    weights: Mapping[str, float] | None = None,
) -> list[CardWitness]:
    """Witnesses from the verdict and, if held-out reward rose beyond chance, from samples and figures."""
    witnesses: dict[str, CardWitness] = {
        problem.code: CardWitness(
            code=problem.code,
            message=f"{problem.message[:1].upper()}{problem.message[1:]}.",
            evidence={"step": problem.step},
        )
        for problem in (verdict.problems if verdict else ())
        if problem.code in _OF_VERDICT
    }
    changes = {figure.key: figure.change for figure in figures}
    gain, answers = changes.get(HELD_OUT), changes.get(ANSWER)
    if gain is not None and gain.low > 0:
        answers_rose = answers is not None and answers.low > 0
        for witness in (
            *_followed(samples, IS_LENGTH if answers_rose else FOLLOWS_LENGTH),
            *_disagreeing(figures, weights or {}),
        ):
            witnesses.setdefault(witness.code, witness)
    return list(witnesses.values())


def _followed(samples: Sequence[CardSample], least: float) -> Iterator[CardWitness]:
    for code, title, reader in _FOLLOWED:
        r = correlation_within_rows(samples, reader)
        if r is not None and r >= least:
            yield CardWitness(
                code=code,
                message=f"Among completions of one row, reward follows {title} (r = {r:.2f}).",
                evidence={"correlation": r},
            )


def correlation_within_rows(samples: Sequence[CardSample], reader: SampleReader) -> float | None:
    """Correlation of values with rewards, each minus its row's mean. None for too few or constant values."""
    values: list[float] = []
    rewards: list[float] = []
    for row in by_row(samples).values():
        scored = [
            (value, sample.reward)
            for sample in row
            if sample.reward is not None and (value := reader(sample)) is not None
        ]
        mean_value, mean_reward = (
            (fmean(column) for column in zip(*scored, strict=True)) if scored else (0, 0)
        )
        values += [value - mean_value for value, _ in scored]
        rewards += [reward - mean_reward for _, reward in scored]
    varied = len(set(values)) > 1 and len(set(rewards)) > 1
    return correlation(values, rewards) if varied and len(values) >= FEWEST else None


def _disagreeing(figures: Sequence[CardFigure], weights: Mapping[str, float]) -> Iterator[CardWitness]:
    for figure in figures:
        if figure.change is None or figure.change.high >= 0:
            continue
        name = figure.key.removeprefix("reward/")
        if figure.key == ANSWER:
            yield CardWitness(
                code="answers_disagree",
                message=f"Right final answers fell by {-figure.change.value:.3f} while the reward rose.",
                evidence={"change": figure.change.value},
            )
        elif figure.group == "parts" and weights.get(name) == 0:
            yield CardWitness(
                code="rewards_disagree",
                message=f"The reward {name}, which has weight 0, fell by {-figure.change.value:.3f} "
                "while the total rose.",
                evidence={"reward": name, "change": figure.change.value},
            )
