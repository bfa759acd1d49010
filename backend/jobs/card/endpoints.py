"""Endpoint of a job's report card."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from backend.access.auth import Reader
from backend.data.database import Session
from backend.data.sealing import SealerDep
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.card.service import MEDIA_TYPES, card_of, rendered
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.jobs.report.endpoints import HEADERS
from backend.settings import Settings
from reinforge.schemas.report_card import CardFormat, ReportCard

router = APIRouter(tags=["jobs"], route_class=StrictRoute)
LARGEST = 2**53
_OTHERS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/html": {"schema": {"type": "string"}, "example": "<!doctype html><title>sums</title>…"},
            "text/markdown": {"schema": {"type": "string"}, "example": "# Report card: sums\n"},
        }
    }
}


@router.get("/jobs/{id}/card", operation_id="getJobCard", response_model=ReportCard, responses=_OTHERS)
async def get_card(
    id: str,
    request: Request,
    session: Session,
    cache: ObjectCacheDep,
    sealer: SealerDep,
    who: Reader,
    format: CardFormat = "json",
    step: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    slice: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    require: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
) -> Response:
    """Compare base model, parent and adapter on held-out rows, with paired bootstrap intervals.

    `format`: `html` and `md` are self-contained files; `manifest` has the SHA-256 of the other three formats,
    signed with the installation's Ed25519 key. `step`: step of an evaluation, default the newest. `slice`:
    column that divides the rows, default the job's. `require`: conditions to check, such as
    `held_out_gain>0.02, witnesses=0`.
    """
    job = await repository.find(session, who.project_id, id)
    settings: Settings = request.app.state.settings
    card = await card_of(
        session,
        cache,
        job,
        step=step,
        slice_column=slice,
        require=require,
        gpu_hour_price=settings.gpu_hour_price,
    )
    content = await to_thread.run_sync(rendered, card, format, sealer)
    return Response(content, media_type=MEDIA_TYPES[format], headers=HEADERS)
