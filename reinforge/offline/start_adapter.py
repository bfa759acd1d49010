"""Start adapter of an offline job: a PEFT folder on this machine."""

import tarfile
from pathlib import Path

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS, read_adapter_config
from reinforge.base_models.start_adapter import with_start
from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec


def with_start_folder(spec: JobSpec) -> JobSpec:
    """The job with the start adapter's LoRA settings and absolute folder. Raises InvalidInput if they do not
    fit the job."""
    if spec.adapter.start is None:
        return spec
    folder = Path(spec.adapter.start)
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise InvalidInput(
                f"{folder} is not an adapter's folder: it has no {name}.",
                code="adapter_not_found",
                param="adapter.start",
                hint="Without a server, it must name a folder that PEFT's `save_pretrained` wrote.",
            )
    try:
        lora = read_adapter_config((folder / CONFIG).read_bytes())
    except InvalidInput as error:
        error.param = "adapter.start"
        raise
    return with_start(spec, str(folder.resolve()), lora, model=spec.model)


def start_archive(spec: JobSpec, out: Path) -> Path | None:
    if spec.adapter.start is None:
        return None
    archive = out / "start.tar"
    with tarfile.open(archive, "w") as tar:
        for name in (CONFIG, WEIGHTS):
            tar.add(Path(spec.adapter.start) / name, arcname=name)
    return archive
