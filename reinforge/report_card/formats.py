"""Formats titles, numbers and intervals for all documents of a report card."""

from collections.abc import Iterator, Sequence

from reinforge.schemas.report_card import CardChange, CardEstimate, CardFigure, CardSubject, ReportCard

GROUPS = {
    "reward": "Held-out rows",
    "pass_at_k": "Pass@k",
    "best_at_k": "Best@k",
    "parts": "Parts of the reward",
    "slices": "Slices",
    "behaviour": "Length, entropy and scoring time",
    "failures": "Format failures",
}
ROLES = (
    ("base", "Base"),
    ("parent", "Parent"),
    ("adapter", "Adapter"),
    ("change", "Adapter − base"),
    ("parent_change", "Adapter − parent"),
)


def number(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 100 or abs(value) < 0.001 else f"{value:.3f}"


def estimate_text(estimate: CardEstimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def change_text(change: CardChange | None) -> str:
    if change is None:
        return "–"
    sign = "+" if change.value > 0 else ""
    pairing = "" if change.paired else ", not paired"
    return f"{sign}{number(change.value)} [{number(change.low)}, {number(change.high)}{pairing}]"


def role_columns(figures: Sequence[CardFigure]) -> list[tuple[str, str]]:
    return [role for role in ROLES if any(getattr(figure, role[0]) is not None for figure in figures)]


def policy_lines(card: ReportCard) -> list[str]:
    return [
        f"{policy.role.capitalize()}: {policy.name}, evaluated at step {policy.step} "
        f"on {policy.rows} rows, {policy.completions} completions"
        for policy in card.policies
    ]


def identity(subject: CardSubject) -> Iterator[tuple[str, str]]:
    facts = {
        "Job": subject.job,
        "Adapter": subject.adapter,
        "SHA-256 of the adapter": subject.adapter_sha256,
        "Base model": subject.model,
        "SHA-256 of the base model": subject.model_sha256,
        "Started from": subject.started_from,
        "SHA-256 of the dataset": subject.dataset_sha256,
        "SHA-256 of the held-out dataset": subject.held_out_dataset_sha256,
        "SHA-256 of the settings": subject.spec_sha256,
        "Preset": subject.preset,
        "Seed": subject.seed,
    }
    for name, value in facts.items():
        if value is not None:
            yield name, str(value)
    for reward in subject.rewards:
        yield "SHA-256 of a reward", str(reward["sha256"])
