"""Endpoint that reports repeated and leaked prompts."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from backend.access.auth import Reader, SettingsDep
from backend.access.work_slots import unless_disconnected
from backend.data.database import Session
from backend.data.objects import ObjectsDep
from backend.datasets import service
from backend.datasets.leakage.compare import HeldOutRows
from backend.datasets.leakage.report import report
from reinforge.schemas.dataset_reports import DatasetOverlap

router = APIRouter(prefix="/api/v1", tags=["datasets"])


@router.get("/datasets/{id}/report", operation_id="reportDataset")
async def get(
    id: str,
    request: Request,
    session: Session,
    settings: SettingsDep,
    objects: ObjectsDep,
    who: Reader,
    held_out: Annotated[
        str | None, Query(max_length=200, description="Id of a dataset with the held-out rows.")
    ] = None,
    held_out_rows: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    split_by: Literal["row", "prompt"] = "row",
    wait: Annotated[float, Query(ge=0, le=60, description="Seconds to wait for the report.")] = 20.0,
) -> DatasetOverlap:
    """Report duplicate prompts, and held-out prompts that are also trained on.

    The held-out rows are the dataset `held_out`, or those that `held_out_rows`, `seed` and `split_by` would
    split off. `status` is `running` if the report takes longer than `wait`: request it again.
    """
    dataset = await service.get(session, who.project_id, id)
    other_dataset = None if held_out is None else await service.get(session, who.project_id, held_out)
    await session.commit()  # hold no connection while reading
    held_out_rows_of = (
        HeldOutRows(rows=held_out_rows, seed=seed, split_by=split_by)
        if other_dataset is None
        else HeldOutRows()
    )
    cache = service.cache_folder(settings.home_folder)
    return await unless_disconnected(
        request, report(objects, cache, dataset, held_out_rows_of, other_dataset, wait=wait)
    )
