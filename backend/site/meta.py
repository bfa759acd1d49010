"""Endpoint `GET /api/v1/meta`."""

from fastapi import APIRouter

from backend.access.auth import Reader
from reinforge import __version__
from reinforge.metrics import CHARTS, FAMILIES, METRICS
from reinforge.offline.jobfile import spec_schema
from reinforge.presets import PRESETS
from reinforge.schemas.meta import Meta

router = APIRouter()


@router.get("/api/v1/meta", tags=["meta"], operation_id="getMeta")
async def meta(who: Reader) -> Meta:
    """Version, every metric with unit and meaning, charts, algorithm presets, the job specification's schema."""
    return Meta(
        version=__version__,
        metrics=list(METRICS.values()),
        metric_families=list(FAMILIES),
        charts=list(CHARTS),
        presets={name: preset.slots for name, preset in PRESETS.items()},
        job_spec=spec_schema(),
    )
