"""The learning rate of a job in `reinforge job show`: the one in use, and the step that changed it."""

from collections.abc import Sequence

from reinforge.base_models.learning_rate import AUTO
from reinforge.client import Reinforge
from reinforge.schemas.job_changes import JobChangeView
from reinforge.schemas.jobs import JobDetail
from reinforge.states import FINAL, JobStatus

SETTING = "optimizer.learning_rate"


def changes_of_rate(client: Reinforge, job: JobDetail) -> list[JobChangeView]:
    """Changes of the job's learning rate, oldest first; empty while an `auto` rate is not resolved."""
    if not _created_with(job):
        return []
    return [change for change in client.jobs.changes(job.id) if change.setting == SETTING]


def learning_rate(job: JobDetail, changes: Sequence[JobChangeView]) -> str:
    """The learning rate in use and the step that changed it; empty while an `auto` rate is not resolved.

    After a rollback, the newest applied change counts, even if an older change has a later step.
    """
    text = _created_with(job)
    applied = [change for change in changes if change.step is not None]
    if applied and text:
        newest = applied[-1]
        by = f" by {newest.created_by}" if newest.created_by else ""
        text = f"{newest.value:g}, changed at step {newest.step}{by}; the job began with {text}"
    if changes and changes[-1].step is None and JobStatus(job.status) not in FINAL:
        text += f"; {changes[-1].value:g} from the next step on"
    return text


def _created_with(job: JobDetail) -> str:
    optimizer = (job.resolved_spec or {}).get("optimizer", {})
    value, initial = optimizer.get("learning_rate"), optimizer.get("initial_learning_rate")
    if not isinstance(value, float):
        return ""
    begins = f", the first steps from {initial:g} down" if initial and initial != value else ""
    requested = job.spec.get("optimizer", {}).get("learning_rate", AUTO)
    return f"{value:g}{' (auto)' if requested == AUTO else ''}{begins}"
