"""Check of a report card against conditions, for `reinforge gate --require-card`."""

from pathlib import Path

from pydantic import ValidationError

from reinforge.cli.connection import connect
from reinforge.errors import InvalidInput
from reinforge.evaluation.summary import Condition, GateReport
from reinforge.report_card import conditions
from reinforge.schemas.report_card import ReportCard


def card_gate(file_or_job: str, require: str) -> GateReport:
    """Check the report card of a file or job."""
    parsed = conditions.parse(require)
    card = _card(file_or_job)
    requirement = conditions.check(card, require)
    adapter = next((policy for policy in card.policies if policy.role == "adapter"), None)
    return GateReport(
        metric=f"report card of {card.subject.job}",
        confidence=0.95,
        rows=adapter.rows if adapter else 0,
        met=requirement.met,
        conditions=[
            Condition(
                name=condition.condition,
                met=condition.met,
                value=condition.value,
                bound=condition.value,
                required=number,
                message=f"{condition.condition}: {condition.message}",
            )
            for condition, (_, _, number) in zip(requirement.conditions, parsed, strict=True)
        ],
        notes=card.notes,
    )


def _card(file_or_job: str) -> ReportCard:
    path = Path(file_or_job)
    if not path.is_file():
        with connect() as client:
            return client.jobs.card(file_or_job)
    try:
        return ReportCard.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InvalidInput(
            f"{path} is not a report card in JSON.",
            code="invalid_card",
            hint="Write one with `reinforge job card JOB --out card.json`.",
        ) from error
