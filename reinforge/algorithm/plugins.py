"""Plug-ins: algorithm parts and presets of installed packages, by entry points.

    [project.entry-points."reinforge.slots"]      # the part in a specification: a pydantic model
    "advantage.centred_rank" = "own_algorithm.spec:CentredRank"
    [project.entry-points."reinforge.functions"]  # what the worker calls; only the worker loads it
    "advantage.centred_rank" = "own_algorithm.functions:centred_rank"
    [project.entry-points."reinforge.presets"]
    centred_rank = "own_algorithm.presets:CENTRED_RANK"
    [project.entry-points."reinforge.vectors"]    # for tests/algorithm/test_vectors.py
    cases = "own_algorithm:VECTORS"

Entry points are read once per process; unusable ones are skipped and recorded (`Installed.faults`).
`REINFORGE_PLUGINS=off` disables plug-ins.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Field

from reinforge import settings
from reinforge.algorithm.advantage import Advantage, AdvantageModel
from reinforge.algorithm.aggregation import Aggregation, AggregationModel
from reinforge.algorithm.base import SpecModel
from reinforge.algorithm.plugin_functions import function_problem
from reinforge.algorithm.preset import Preset
from reinforge.algorithm.selection import Selection, SelectionModel
from reinforge.algorithm.shaping import OutcomeShaping, Shaping, ShapingModel
from reinforge.algorithm.surrogate import Surrogate, SurrogateModel

log = logging.getLogger(__name__)

SLOTS_GROUP, FUNCTIONS_GROUP = "reinforge.slots", "reinforge.functions"
PRESETS_GROUP, VECTORS_GROUP = "reinforge.presets", "reinforge.vectors"
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class SlotKind:
    path: str
    """Path in the algorithm, for example `loss.surrogate`."""
    base: type[SpecModel]
    built_in: Any

    def models(self) -> dict[str, type[SpecModel]]:
        return {one.model_fields["type"].default: one for one in get_args(get_args(self.built_in)[0])}


SLOT_KINDS: dict[str, SlotKind] = {
    "shaping": SlotKind("shaping", ShapingModel, Shaping),
    "selection": SlotKind("selection", SelectionModel, Selection),
    "advantage": SlotKind("advantage", AdvantageModel, Advantage),
    "surrogate": SlotKind("loss.surrogate", SurrogateModel, Surrogate),
    "aggregation": SlotKind("loss.aggregation", AggregationModel, Aggregation),
}

Kind = tuple[str, str]
"""(name of a part or `preset`, name of its implementation)"""


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Fault:
    package: Package
    group: str
    entry: str
    reason: str

    def __str__(self) -> str:
        return f"{self.package} offers `{self.entry}` ({self.group}), which cannot be used: {self.reason}"


@dataclass(slots=True)
class Installed:
    parts: dict[str, dict[str, type[SpecModel]]] = field(
        default_factory=lambda: {slot: {} for slot in SLOT_KINDS}
    )
    presets: dict[str, Preset] = field(default_factory=dict)
    owners: dict[Kind, Package] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    blocked: dict[Kind, Fault] = field(default_factory=dict)
    """Fault of each name whose only plug-in is unusable."""

    def refuse(self, kind: Kind, fault: Fault, *, name_taken: bool = False) -> None:
        """Record a fault. name_taken: another implementation has the name."""
        self.faults.append(fault)
        if not name_taken:
            self.blocked[kind] = fault
        log.warning("%s", fault)


@cache
def installed() -> Installed:
    plugins = Installed()
    if not settings.plugins_enabled():
        return plugins
    functions = {entry.name: entry for entry in metadata.entry_points(group=FUNCTIONS_GROUP)}
    for entry in metadata.entry_points(group=SLOTS_GROUP):
        slot, _, name = entry.name.partition(".")
        kind = (slot, name)
        _take(plugins, kind, entry, partial(_part, plugins, kind, entry, functions))
    for entry in metadata.entry_points(group=PRESETS_GROUP):
        kind = ("preset", entry.name)
        _take(plugins, kind, entry, partial(_preset, plugins, kind, entry))
    return plugins


def _take(plugins: Installed, kind: Kind, entry: metadata.EntryPoint, take: Callable[[], None]) -> None:
    package = package_of(entry)
    try:
        take()
        plugins.owners[kind] = package
    except (Exception, SystemExit) as error:  # noqa: BLE001 - other people's code: recorded with its cause
        reason = str(error) if isinstance(error, Unusable) else f"{type(error).__name__}: {error}"
        fault = Fault(package, entry.group, entry.name, reason)
        plugins.refuse(kind, fault, name_taken=isinstance(error, NameTaken))


class Unusable(Exception):
    """The entry point cannot be used; the message says why."""


class NameTaken(Unusable):
    """Another implementation has the name."""


def package_of(entry: metadata.EntryPoint) -> Package:
    dist = entry.dist
    return Package(dist.name, dist.version) if dist is not None else Package("an unnamed package", "?")


def _check_name(plugins: Installed, kind: Kind, built_in: Collection[str]) -> None:
    _, name = kind
    if not NAME.fullmatch(name):
        raise Unusable(
            f"the name {name!r} is invalid: use lower-case letters, digits and _, and begin with a letter"
        )
    if name in built_in:
        raise NameTaken(f"`{name}` is built in: choose another name")
    if kind in plugins.owners:
        raise NameTaken(f"{plugins.owners[kind]} offers the same name")


def _part(
    plugins: Installed, kind: Kind, entry: metadata.EntryPoint, functions: Mapping[str, metadata.EntryPoint]
) -> None:
    slot, name = kind
    if slot not in SLOT_KINDS:
        raise Unusable(f"there is no slot {slot!r}; slots: {', '.join(SLOT_KINDS)}")
    place = SLOT_KINDS[slot]
    _check_name(plugins, kind, place.models())
    model = entry.load()
    if not (isinstance(model, type) and issubclass(model, place.base)):
        raise Unusable(f"{entry.value} is not a subclass of reinforge.plugin.{place.base.__name__}")
    tag = model.model_fields.get("type")
    if tag is None or get_origin(tag.annotation) is not Literal or get_args(tag.annotation) != (name,):
        raise Unusable(f'{entry.value} has to declare `type: Literal["{name}"] = "{name}"`')
    if tag.default != name:
        raise Unusable(f"the default of `type` has to be {name!r}")
    if getattr(model, "reads_values", False):
        raise Unusable(
            "`reads_values` cannot be set: only the built-in `gae` defines the targets of a critic"
        )
    model.model_json_schema()  # the form is made from it
    function = functions.get(entry.name)
    if function is None:
        raise Unusable(
            f"there is no entry point `{entry.name}` in {FUNCTIONS_GROUP} that names the worker's function"
        )
    if problem := function_problem(slot, function.module, function.attr, parameters_of(slot, model)):
        raise Unusable(problem)
    plugins.parts[slot][name] = model


def _preset(plugins: Installed, kind: Kind, entry: metadata.EntryPoint) -> None:
    _check_name(plugins, kind, ())
    preset = entry.load()
    if not isinstance(preset, Preset):
        raise Unusable(f"{entry.value} is not a reinforge.plugin.Preset")
    plugins.presets[kind[1]] = preset


def parameters_of(slot: str, model: type[SpecModel]) -> list[str]:
    """Fields that the worker passes to the function as keywords."""
    shared = OutcomeShaping.model_fields.keys() if slot == "shaping" else ()
    return [name for name in model.model_fields if name != "type" and name not in shared]


def union(slot: str) -> Any:
    """Union of a part's built-in and package models, discriminated by `type`."""
    place, own = SLOT_KINDS[slot], installed().parts[slot]
    if not own:
        return place.built_in
    models = (*place.models().values(), *own.values())
    return Annotated[Union[models], Field(discriminator="type")]  # noqa: UP007 - made at run time


def own_presets(built_in: Collection[str]) -> dict[str, Preset]:
    plugins = installed()
    for name in [name for name in plugins.presets if name in built_in]:
        withdraw(name, f"`{name}` is built in: choose another name", name_taken=True)
    return plugins.presets


def withdraw(name: str, reason: str, *, name_taken: bool = False) -> None:
    plugins, kind = installed(), ("preset", name)
    del plugins.presets[name]
    plugins.refuse(kind, Fault(plugins.owners.pop(kind), PRESETS_GROUP, name, reason), name_taken=name_taken)


def named_parts(algorithm: Mapping[str, Any]) -> Iterator[Kind]:
    """Yield the preset and parts named in unvalidated algorithm settings; skip invalid values."""
    if isinstance(name := algorithm.get("preset"), str):
        yield "preset", name
    for slot, place in SLOT_KINDS.items():
        value: Any = algorithm
        for key in place.path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, Mapping) and isinstance(kind := value.get("type"), str):
            yield slot, kind


def packages_of(algorithm: Mapping[str, Any]) -> dict[str, str]:
    """Name → version of the packages that define an algorithm's preset and parts."""
    owners = installed().owners
    used = [owners[kind] for kind in named_parts(algorithm) if kind in owners]
    return {package.name: package.version for package in used}


def package_of_preset(name: str) -> str | None:
    """The preset's package, such as `own-algorithm 0.1.0`; None for built-in presets."""
    owner = installed().owners.get(("preset", name))
    return str(owner) if owner else None


def package_problem(name: str, version: str) -> str | None:
    """Why a job made with this version of a package cannot run here; None if it can."""
    try:
        here = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"the job was made with {name} {version}, which is not installed"
    return None if here == version else f"the job was made with {name} {version}, and {here} is installed"


def vector_files() -> list[Path]:
    """Paths of the packages' test vectors. Raises any error of loading their entry points."""
    entries = metadata.entry_points(group=VECTORS_GROUP) if settings.plugins_enabled() else ()
    return [Path(entry.load()) for entry in entries]
