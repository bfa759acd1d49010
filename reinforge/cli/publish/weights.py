"""Adapters to merge or publish: local folders, or downloads with facts for the model card."""

from dataclasses import dataclass
from pathlib import Path

from reinforge.cli.connection import connect
from reinforge.cli.publish.card import CardFacts, base_name, facts_of
from reinforge.cli.results.weights import choose, require_job
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, NotFound
from reinforge.schemas.resources import BaseModelInfo, Dataset


@dataclass(frozen=True)
class FetchedAdapter:
    folder: Path
    model: BaseModelInfo | None
    """The base model; None for a local folder."""
    facts: CardFacts | None


def fetch(id: str, to: Path, *, final: bool, step: int | None) -> FetchedAdapter:
    """Use a local folder, or unpack an adapter (adp_…) or a job's checkpoint (ftjob-…) into `to`."""
    if Path(id).is_dir():
        return FetchedAdapter(Path(id).resolve(), None, None)
    require_job(id, final=final, step=step)
    with connect() as client:
        if id.startswith("ftjob-"):
            at = choose(client, id, final=final, step=step).step
            return _checkpoint(client, id, at, client.jobs.extract_checkpoint(id, at, to))
        adapter = client.adapters.get(id)
        folder = client.adapters.extract(id, to)
        if adapter.job is not None and adapter.checkpoint is not None:
            return _checkpoint(client, adapter.job, adapter.step, folder)
        model = client.models.get(adapter.model)
        base, revision = base_name(model.source, model.id)
        facts = CardFacts(adapter.name, base, model.revision or revision, model.sha256, model.licence)
        return FetchedAdapter(folder, model, facts)


def _checkpoint(client: Reinforge, job_id: str, step: int, folder: Path) -> FetchedAdapter:
    job = client.jobs.get(job_id)
    model = client.models.get(job.model)
    checkpoint = next((one for one in client.jobs.checkpoints(job_id) if one.step == step), None)
    if checkpoint is None:
        raise NotFound(f"No checkpoint of step {step} is stored.", code="checkpoint_not_found")
    return FetchedAdapter(folder, model, facts_of(model, job, checkpoint, _dataset(client, job.dataset)))


def _dataset(client: Reinforge, id: str) -> Dataset | None:
    try:
        return client.datasets.get(id)
    except NotFound:  # deleted meanwhile
        return None


def base_source(adapter: FetchedAdapter, base: Path | None) -> str:
    """Source of the base model. Raises InvalidInput `model_needed` for a local folder without `base`."""
    if base is not None:
        return str(base)
    if adapter.model is None:
        raise InvalidInput(
            "The base model of an adapter's local folder is unknown.",
            code="model_needed",
            param="--base",
            hint="Give the base model's folder with --base.",
        )
    return adapter.model.source
