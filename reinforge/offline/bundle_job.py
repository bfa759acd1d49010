"""Prepares a bundle's job for a trainer process: base model, rows and `run.json`."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from reinforge import settings
from reinforge.bundles.manifest import BundledData, BundleManifest
from reinforge.errors import InvalidInput
from reinforge.grading.multi import leaves
from reinforge.grading.source import parse_grader
from reinforge.grading.types import EndpointGrader
from reinforge.offline.located import locate
from reinforge.offline.rewards import checkpoints
from reinforge.records import RewardCode, RunManifest


@dataclass(frozen=True)
class Inputs:
    model: Path | None = None
    dataset: Path | None = None
    held_out: Path | None = None


def prepare(
    manifest: BundleManifest, folder: Path, out: Path, inputs: Inputs, socket_path: Path
) -> RunManifest:
    """Write the job of the bundle in `folder` to `out/run.json`. Raises InvalidInput if it cannot run."""
    check_repeatable(manifest, folder)
    model = _model(manifest, inputs.model)
    dataset = _data(manifest.dataset, inputs.dataset, folder, "--dataset")
    held_out = manifest.held_out and _data(manifest.held_out, inputs.held_out, folder, "--held-out")
    (out / "rewards").mkdir(parents=True, exist_ok=True)  # for those that changes write
    code = [
        RewardCode(
            name=reward.name, path=str(folder / reward.path), revision=reward.revision, kind=reward.kind
        )
        for reward in manifest.rewards
    ]
    fork = manifest.fork
    run = RunManifest(
        job=manifest.job,
        attempt=1,
        spec=manifest.resolved_spec,
        model_path=str(model),
        dataset_path=str(dataset),
        held_out_path=str(held_out) if held_out else None,
        dataset_numbers=manifest.dataset.numbers,
        held_out_numbers=manifest.held_out.numbers if manifest.held_out else [],
        rewards=code,
        sandbox_socket=settings.sandbox_url() or str(socket_path),
        checkpoints=checkpoints(code, model),
        resume_path=str(folder / fork.path) if fork and fork.path else None,
        start_path=str(folder / manifest.start) if manifest.start else None,
        fork=fork.start if fork else None,
        changes=manifest.changes,
    )
    (out / "run.json").write_text(run.model_dump_json(indent=2), encoding="utf-8")
    return run


def check_repeatable(manifest: BundleManifest, folder: Path) -> None:
    if manifest.judges:
        raise _not_repeatable(f"its rewards ask the judge {manifest.judges[0]}, whose replies vary")
    for reward in manifest.rewards:
        if reward.kind == "grader":
            grader = parse_grader((folder / reward.path).read_text(encoding="utf-8", errors="replace"))
            if any(isinstance(part, EndpointGrader) for part in leaves(grader).values()):
                raise _not_repeatable(f"the reward {reward.name} asks an endpoint, whose replies may vary")
    if manifest.fork is not None and manifest.fork.path is None:
        raise _not_repeatable(
            f"it continued from step {manifest.fork.start.step} of {manifest.fork.job}, which was no longer stored"
        )


def _not_repeatable(reason: str) -> InvalidInput:
    return InvalidInput(
        f"The job cannot be repeated: {reason}.",
        code="not_repeatable",
        hint="Its metrics and completions are in the bundle as Parquet: unpack it with tar.",
    )


def _model(manifest: BundleManifest, folder: Path | None) -> Path:
    entry = manifest.model
    if folder is None and entry.source is None:
        raise InvalidInput(
            f"The base model {entry.id} was a folder of the workers and is not in the bundle.",
            code="model_needed",
            param="--model",
            hint="Give the folder of the same model with --model.",
        )
    source = str(folder or entry.source)
    place = locate(source, settings.model_cache(), "--model")
    if entry.sha256 is not None and place.sha256 != entry.sha256:
        raise InvalidInput(
            f"The files of {source} are not those of the job ({place.sha256[:12]}… instead of "
            f"{entry.sha256[:12]}…).",
            code="model_changed",
            param="--model",
            hint="Give the folder of the same model with --model.",
        )
    return place.folder


def _data(entry: BundledData, replacement: Path | None, folder: Path, option: str) -> Path:
    if replacement is None:
        if entry.path is None:
            raise InvalidInput(
                f"The bundle lacks the rows of the dataset {entry.name} ({entry.dataset}, {entry.rows} rows, "
                f"SHA-256 {entry.sha256}).",
                code="rows_needed",
                param=option,
                hint=f"Give the file with {option}.",
            )
        return folder / entry.path
    if not replacement.is_file():
        raise InvalidInput(f"There is no file {replacement}.", code="file_not_found", param=option)
    with replacement.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != entry.sha256:
        raise InvalidInput(
            f"{replacement} is not the job's dataset: its SHA-256 is {digest} instead of {entry.sha256}.",
            code="rows_differ",
            param=option,
        )
    return replacement.resolve()
