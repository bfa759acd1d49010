"""Settings in which specifications differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

IGNORED = frozenset({"name", "metadata", "export"})


def differences(specs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Dotted path → value in each specification, where they differ; None where one has no value."""
    flat = [
        dict(leaves("", {key: value for key, value in spec.items() if key not in IGNORED})) for spec in specs
    ]
    paths = list(dict.fromkeys(path for leaves in flat for path in leaves))
    values = {path: [leaves.get(path) for leaves in flat] for path in paths}
    return {path: row for path, row in values.items() if any(value != row[0] for value in row)}


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from leaves(f"{path}.{key}" if path else str(key), item)
    elif (
        isinstance(value, list)
        and value
        and all(isinstance(item, Mapping) and "name" in item for item in value)
    ):
        for item in value:
            rest = {key: field for key, field in item.items() if key != "name"}
            yield from leaves(f"{path}.{item['name']}", rest)
    else:
        yield path, value
