"""Figures of a report card: base, parent and adapter on the same rows, with paired bootstrap intervals."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reinforge.comparison import held_out
from reinforge.report_card.samples import (
    CardSample,
    Rows,
    Statistic,
    best_at,
    by_row,
    mean_of,
    pass_at,
    row_values,
    sizes,
)
from reinforge.schemas.report_card import CardChange, CardEstimate, CardFigure, FigureGroup

MOST_SLICES = 20
MOST_PARTS = 40
HELD_OUT, ANSWER = "held_out", "answer"
SampleReader = Callable[[CardSample], float | None]


@dataclass(frozen=True, slots=True)
class FigureDefinition:
    key: str
    group: FigureGroup
    title: str
    unit: str
    better: Literal["higher", "lower"] | None
    statistic: Statistic


@dataclass(frozen=True, slots=True)
class ComparedSamples:
    adapter: Sequence[CardSample]
    base: Sequence[CardSample] = ()
    parent: Sequence[CardSample] = ()

    @property
    def every(self) -> Iterator[CardSample]:
        yield from self.adapter
        yield from self.base
        yield from self.parent


def figures_of(samples: ComparedSamples, *, pass_above: float) -> list[CardFigure]:
    rows = {name: by_row(getattr(samples, name)) for name in ("base", "parent", "adapter")}
    return [_figure(definition, rows) for definition in definitions(samples, pass_above)]


def definitions(samples: ComparedSamples, pass_above: float) -> list[FigureDefinition]:
    fewest = min(Counter(sample.key for sample in samples.adapter).values(), default=0)
    return [
        FigureDefinition(
            HELD_OUT, "reward", "Held-out reward", "reward", "higher", mean_of(lambda s: s.reward)
        ),
        *_answers(samples),
        *(
            FigureDefinition(f"pass@{k}", "pass_at_k", f"Pass@{k}", "share", "higher", pass_at(k, pass_above))
            for k in sizes(fewest)
        ),
        *(
            FigureDefinition(f"best@{k}", "best_at_k", f"Best@{k}", "reward", "higher", best_at(k))
            for k in sizes(fewest)
        ),
        *_parts(samples),
        *_slices(samples),
        *_behaviour(samples),
        *_failures(),
    ]


def _answers(samples: ComparedSamples) -> Iterator[FigureDefinition]:
    if any(sample.right is not None for sample in samples.every):
        right = mean_of(lambda sample: None if sample.right is None else float(sample.right))
        yield FigureDefinition(ANSWER, "reward", "Right final answers", "share", "higher", right)


def _parts(samples: ComparedSamples) -> Iterator[FigureDefinition]:
    names = sorted({name for sample in samples.every for name in sample.parts})
    for name in names[:MOST_PARTS]:
        yield FigureDefinition(
            f"reward/{name}", "parts", name, "reward", "higher", mean_of(_part_reader(name))
        )


def _part_reader(name: str) -> SampleReader:
    return lambda sample: sample.parts.get(name)


def _slices(samples: ComparedSamples) -> Iterator[FigureDefinition]:
    counts = Counter(sample.slice for sample in samples.adapter if sample.slice is not None)
    for name, _ in counts.most_common(MOST_SLICES):
        yield FigureDefinition(
            f"slice/{name}", "slices", name, "reward", "higher", mean_of(_slice_reader(name))
        )


def _slice_reader(name: str) -> SampleReader:
    return lambda sample: sample.reward if sample.slice == name else None


def _behaviour(samples: ComparedSamples) -> Iterator[FigureDefinition]:
    tokens = mean_of(lambda sample: float(sample.tokens))
    yield FigureDefinition("length", "behaviour", "Completion length", "tokens", None, tokens)
    if any(sample.surprisal is not None for sample in samples.every):
        surprisal = mean_of(lambda sample: sample.surprisal)
        title = "Entropy, estimated by -log p of the sampled tokens"
        yield FigureDefinition("entropy", "behaviour", title, "nat per token", None, surprisal)
    if any(sample.score_ms is not None for sample in samples.every):
        score_ms = mean_of(lambda sample: sample.score_ms)
        yield FigureDefinition("score_ms", "behaviour", "Time to score a completion", "ms", "lower", score_ms)


def _failures() -> Iterator[FigureDefinition]:
    yield FigureDefinition(
        "truncated", "failures", "Cut off at the token limit", "share", "lower",
        mean_of(lambda sample: float(sample.finish_reason == "length")),
    )  # fmt: skip
    yield FigureDefinition(
        "empty", "failures", "Empty completions", "share", "lower",
        mean_of(lambda sample: float(not sample.text.strip())),
    )  # fmt: skip
    yield FigureDefinition(
        "unscored", "failures", "Completions without a reward", "share", "lower",
        mean_of(lambda sample: float(sample.reward is None)),
    )  # fmt: skip


def _figure(definition: FigureDefinition, rows: dict[str, Rows]) -> CardFigure:
    values = {name: row_values(rows[name], definition.statistic) for name in rows}
    return CardFigure(
        key=definition.key,
        group=definition.group,
        title=definition.title,
        unit=definition.unit,
        better=definition.better,
        base=_estimate(values["base"]),
        parent=_estimate(values["parent"]),
        adapter=_estimate(values["adapter"]),
        change=change_of(values["base"], values["adapter"]),
        parent_change=change_of(values["parent"], values["adapter"]),
    )


def _estimate(values: dict[str, float]) -> CardEstimate | None:
    interval = held_out.interval(list(values.values()))
    return None if interval is None else CardEstimate.model_validate(interval)


def change_of(before: dict[str, float], after: dict[str, float]) -> CardChange | None:
    difference = held_out.difference(before, after)
    if difference is None:
        return None
    interval = difference.interval
    return CardChange(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        rows=interval.rows,
        paired=difference.paired,
    )
