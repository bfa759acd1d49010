"""Builds a report card from the stored data of a job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from reinforge.diagnosis.verdict import ENOUGH_ROWS, Verdict
from reinforge.report_card import conditions
from reinforge.report_card.figures import ComparedSamples, figures_of
from reinforge.report_card.samples import CardSample, by_row, rewards_of
from reinforge.report_card.witnesses import witnesses_of
from reinforge.schemas.report_card import (
    CardAbility,
    CardCompletion,
    CardCost,
    CardFigure,
    CardFinding,
    CardPolicy,
    CardSubject,
    CardVerdict,
    ReportCard,
)

EXAMPLES = 10
TEXT_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class CardPolicySamples:
    name: str
    step: int
    samples: Sequence[CardSample]
    job: str | None = None


@dataclass(frozen=True, slots=True)
class AbilitySamples:
    dataset: str
    name: str
    reward: str
    base_evaluation: str
    adapter_evaluation: str
    base: Sequence[CardSample]
    adapter: Sequence[CardSample]
    pass_above: float


@dataclass(frozen=True)
class CardInputs:
    subject: CardSubject
    cost: CardCost
    pass_above: float
    adapter: CardPolicySamples | None = None
    base: CardPolicySamples | None = None
    parent: CardPolicySamples | None = None
    slice_column: str | None = None
    verdict: Verdict | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    findings: Sequence[CardFinding] = ()
    abilities: Sequence[AbilitySamples] = ()
    notes: Sequence[str] = ()


def build(inputs: CardInputs, *, require: str | None = None) -> ReportCard:
    samples = ComparedSamples(
        adapter=inputs.adapter.samples if inputs.adapter else (),
        base=inputs.base.samples if inputs.base else (),
        parent=inputs.parent.samples if inputs.parent else (),
    )
    figures = figures_of(samples, pass_above=inputs.pass_above) if samples.adapter else []
    verdict = inputs.verdict
    best, worst = _examples(samples)
    card = ReportCard(
        subject=inputs.subject,
        verdict=None if verdict is None else CardVerdict(outcome=verdict.outcome, message=verdict.message),
        policies=_policies(inputs),
        pass_above=inputs.pass_above,
        slice_column=inputs.slice_column,
        figures=figures,
        abilities=[_ability(ability) for ability in inputs.abilities],
        witnesses=witnesses_of(samples.adapter, figures, verdict=verdict, weights=inputs.weights),
        findings=list(inputs.findings),
        best=best,
        worst=worst,
        cost=inputs.cost,
        notes=[*inputs.notes, *_notes(inputs, figures)],
    )
    if require is not None:
        card.requirement = conditions.check(card, require)
    return card


def _policies(inputs: CardInputs) -> list[CardPolicy]:
    policies = {"base": inputs.base, "parent": inputs.parent, "adapter": inputs.adapter}
    return [
        CardPolicy.model_validate(
            {
                "role": role,
                "name": policy.name,
                "job": policy.job,
                "step": policy.step,
                "rows": len({sample.key for sample in policy.samples}),
                "completions": len(policy.samples),
            }
        )
        for role, policy in policies.items()
        if policy is not None
    ]


def _ability(ability: AbilitySamples) -> CardAbility:
    samples = ComparedSamples(adapter=ability.adapter, base=ability.base)
    figures = [
        figure
        for figure in figures_of(samples, pass_above=ability.pass_above)
        if figure.group in ("reward", "pass_at_k", "behaviour", "failures")
    ]
    change = figures[0].change
    return CardAbility(
        dataset=ability.dataset,
        name=ability.name,
        reward=ability.reward,
        base_evaluation=ability.base_evaluation,
        adapter_evaluation=ability.adapter_evaluation,
        figures=figures,
        worse=change is not None and change.high < 0,
    )


def _examples(samples: ComparedSamples) -> tuple[list[CardCompletion], list[CardCompletion]]:
    base_rewards = {
        key: fmean(rewards) for key, row in by_row(samples.base).items() if (rewards := rewards_of(row))
    }

    def rank(sample: CardSample) -> tuple[float, float, int, int]:
        reward = sample.reward or 0.0
        change = reward - base_rewards.get(sample.key, reward)
        return reward, change, -sample.row, -sample.sample

    ordered = sorted((sample for sample in samples.adapter if sample.reward is not None), key=rank)
    return (
        [_example(sample, base_rewards) for sample in _one_per_row(ordered[::-1])],
        [_example(sample, base_rewards) for sample in _one_per_row(ordered)],
    )


def _one_per_row(samples: Sequence[CardSample]) -> list[CardSample]:
    first_of_row: dict[str, CardSample] = {}
    for sample in samples:
        first_of_row.setdefault(sample.key, sample)
        if len(first_of_row) == EXAMPLES:
            break
    return list(first_of_row.values())


def _example(sample: CardSample, base_rewards: Mapping[str, float]) -> CardCompletion:
    return CardCompletion(
        row=sample.row,
        sample=sample.sample,
        reward=sample.reward or 0.0,
        base_reward=base_rewards.get(sample.key),
        tokens=sample.tokens,
        finish_reason=sample.finish_reason,
        prompt=sample.prompt,
        answer=sample.answer,
        text=sample.text[:TEXT_CHARACTERS],
    )


def _notes(inputs: CardInputs, figures: Sequence[CardFigure]) -> list[str]:
    if inputs.adapter is None:
        return ["No held-out rows were measured after training: the card has no figures."]
    notes = []
    if inputs.base is None:
        notes.append("The base was not measured on these held-out rows: changes from it are unknown.")
    adapter = figures[0].adapter
    if adapter is not None and adapter.rows < ENOUGH_ROWS:
        notes.append(
            f"Only {adapter.rows} held-out rows were scored: intervals over fewer than {ENOUGH_ROWS} are too narrow."
        )
    if any(figure.change is not None and not figure.change.paired for figure in figures[:1]):
        notes.append("Base and adapter were measured on different held-out rows: changes are not paired.")
    if not inputs.abilities:
        notes.append("No ability probe has run: it is unknown what got worse outside of the held-out rows.")
    return notes
