"""Endpoints for a dataset's prompts."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.base_models import service as base_models
from backend.data.database import Database, DatabaseDep, Session, lock_row
from backend.data.objects import ObjectsDep
from backend.datasets import service
from backend.datasets.prompts import rendering
from backend.http.conditional import IfMatch, tagged
from backend.http.strict_json import StrictRoute
from backend.models import BaseModel
from backend.models import Dataset as DatasetRow
from backend.rpc.client import Calls, CallsDep
from reinforge.schemas.datasets import (
    DatasetUpdate,
    LengthsRequest,
    RenderedPrompts,
    RenderRequest,
    SplitView,
    TokenLengths,
)
from reinforge.schemas.resources import Dataset

router = APIRouter(prefix="/api/v1", tags=["datasets"], route_class=StrictRoute)


async def _dataset_and_model(
    database: Database, calls: Calls, project_id: str, id: str, model: str
) -> tuple[DatasetRow, BaseModel]:
    async with database.transaction() as session:
        dataset = await service.get(session, project_id, id)
    await base_models.ensure_builtin(database, calls, model)
    async with database.transaction() as session:
        return dataset, await base_models.get_usable(session, project_id, model)


@router.patch("/datasets/{id}", operation_id="updateDataset")
async def update(
    id: str, body: DatasetUpdate, response: Response, session: Session, match: IfMatch, who: Writer
) -> Dataset:
    """Rename the dataset, or set how its rows become prompts."""
    dataset = await service.get(session, who.project_id, id)
    await lock_row(session, dataset)
    match.check((await service.view(session, [dataset]))[0])
    if body.prompt_view is not None:
        rendering.check_view(dataset, body.prompt_view, complete=False)
    await service.update(session, dataset, body.name, body.prompt_view)
    return tagged((await service.view(session, [dataset]))[0], response)


@router.post("/datasets/{id}/render", operation_id="renderDataset")
async def render(
    id: str,
    body: RenderRequest,
    database: DatabaseDep,
    calls: CallsDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Reader,
) -> RenderedPrompts:
    """Rows rendered as the prompts that a model would read."""
    dataset, model = await _dataset_and_model(database, calls, who.project_id, id, body.model)
    cache = service.cache_folder(settings.home_folder)
    return await rendering.render(calls, objects, cache, dataset, model, body)


@router.post("/datasets/{id}/lengths", operation_id="measureDataset")
async def lengths(
    id: str,
    body: LengthsRequest,
    database: DatabaseDep,
    calls: CallsDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Reader,
) -> TokenLengths:
    """Distribution of the prompts' lengths in a model's tokens."""
    dataset, model = await _dataset_and_model(database, calls, who.project_id, id, body.model)
    cache = service.cache_folder(settings.home_folder)
    return await rendering.lengths(calls, objects, cache, dataset, model, body)


@router.get("/datasets/{id}/split", operation_id="splitDataset")
async def split(
    id: str,
    session: Session,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Reader,
    held_out_rows: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    split_by: Literal["row", "prompt"] = "row",
) -> SplitView:
    """The rows that a job with this seed would hold out."""
    dataset = await service.get(session, who.project_id, id)
    await session.commit()  # hold no connection while reading
    cache = service.cache_folder(settings.home_folder)
    return await rendering.split_view(objects, cache, dataset, held_out_rows, seed, split_by)
