"""PATCH /datasets/{id} · POST /datasets/{id}/render, /lengths · GET /datasets/{id}/split."""

from typing import Annotated

from fastapi import APIRouter, Query

from backend.auth import Reader, Writer
from backend.strict_json import StrictRoute
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


@router.patch("/datasets/{id}", operation_id="updateDataset")
async def update(id: str, body: DatasetUpdate, who: Writer) -> Dataset:
    """Rename it, or say how its rows become prompts."""
    raise NotImplementedError


@router.post("/datasets/{id}/render", operation_id="renderDataset")
async def render(id: str, body: RenderRequest, who: Reader) -> RenderedPrompts:
    """Rows as the prompts that a model would read."""
    raise NotImplementedError


@router.post("/datasets/{id}/lengths", operation_id="measureDataset")
async def lengths(id: str, body: LengthsRequest, who: Reader) -> TokenLengths:
    """How long the prompts are in a model's tokens."""
    raise NotImplementedError


@router.get("/datasets/{id}/split", operation_id="splitDataset")
async def split(
    id: str,
    who: Reader,
    held_out_rows: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> SplitView:
    """Which rows a job with this seed would hold out."""
    raise NotImplementedError
