"""Adds to a job's specification the settings of the adapter that the job starts from."""

from reinforge.base_models.adapter_config import LoraShape
from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec


def with_start(spec: JobSpec, start: str, lora: LoraShape, *, model: str) -> JobSpec:
    """Add `model` and the adapter to `spec`. Raises InvalidInput if `spec` has other LoRA settings."""
    shape = lora.as_spec()
    for name, value in shape.items():
        current = getattr(spec.adapter, name)
        same = sorted(current) == sorted(value) if isinstance(current, list) else current == value
        if name in spec.adapter.model_fields_set and current is not None and not same:
            raise InvalidInput(
                f"adapter.{name} is {current}, but the adapter {start} has {value}.",
                code="adapter_conflict",
                param=f"adapter.{name}",
                hint="Remove rank, alpha and targets: they come from the adapter that the job starts from.",
            )
    adapter = spec.adapter.model_copy(update=shape | {"start": start})
    return spec.model_copy(update={"model": model, "adapter": adapter})
