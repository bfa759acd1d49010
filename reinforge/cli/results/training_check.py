"""The training check of a job in `reinforge job show`."""

from typing import Any

from reinforge.cli.output import out
from reinforge.client import Reinforge
from reinforge.errors import NotFound
from reinforge.schemas.jobs import JobDetail
from reinforge.schemas.training_checks import JobTrainingCheck


def fetch(client: Reinforge, id: str) -> JobTrainingCheck | None:
    try:
        return client.jobs.training_check(id)
    except NotFound:
        return None


def with_check(job: JobDetail, check: JobTrainingCheck | None) -> dict[str, Any]:
    document = job.model_dump(mode="json")
    return document if check is None else document | {"training_check": check.model_dump(mode="json")}


def report_check(check: JobTrainingCheck | None) -> None:
    if check is None or check.state == "nothing":
        return
    if check.verdict is None:
        out.print(f"  training   {check.message}", markup=False, soft_wrap=True)
    for item in check.observations:
        if item.severity in ("error", "warning"):
            since = "" if item.step is None else f" (since step {item.step})"
            out.print(
                f"  {item.severity:<9}  {item.title}{since}: {item.message}", markup=False, soft_wrap=True
            )
            if item.hint:
                out.print(f"  {'hint':<9}  {item.hint}", markup=False, soft_wrap=True)
