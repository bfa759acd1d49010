"""Lists the settings of a sweep, and builds and checks the job of each."""

import copy
import json
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from reinforge.errors import InvalidInput
from reinforge.parsing.validation import problems
from reinforge.spec import JobSpec
from reinforge.sweeps.spec import MOST_TRIALS, Halving, ParameterRange, SweepSpec

CHECKED = 200
_LONGEST_NAME = 200
PRESET = "algorithm.preset"


@dataclass(frozen=True)
class Variation:
    number: int
    setting: int
    name: str
    parameters: dict[str, Any]
    seed: int | None


def trials(spec: SweepSpec) -> list[Variation]:
    return list(of_settings(spec, enumerate(_settings(spec))))


def first_variations(spec: SweepSpec, most: int) -> list[Variation]:
    return trials(spec)[: most * len(spec.seed_values)]


def of_settings(
    spec: SweepSpec, settings: Iterator[tuple[int, tuple[str, dict[str, Any]]]]
) -> Iterator[Variation]:
    seeds = spec.seed_values
    for setting, (name, parameters) in settings:
        for place, seed in enumerate(seeds):
            yield Variation(setting * len(seeds) + place, setting, name, parameters, seed)


def number_of_trials(spec: SweepSpec) -> int:
    if spec.method == "ladder":
        settings = len(spec.rungs) + 1
    elif spec.trials is not None:
        settings = spec.trials
    else:
        settings = math.prod(len(_values(parameter)) for parameter in spec.parameters.values())
    return settings * len(spec.seed_values)


def job_of(spec: SweepSpec, variation: Variation, sweep_name: str) -> dict[str, Any]:
    job = copy.deepcopy(spec.job)
    if PRESET in variation.parameters:
        set_value(job, PRESET, variation.parameters[PRESET])
    types = _types(job)
    for path, value in variation.parameters.items():
        set_value(job, path, value, types)
    seed = []
    if variation.seed is not None:
        job["seed"] = variation.seed
        seed = [f"seed {variation.seed}"]
    job["name"] = ", ".join([f"{sweep_name}: {variation.name}", *seed])[:_LONGEST_NAME]
    return job


def check(spec: SweepSpec) -> None:
    total = number_of_trials(spec)
    if total > MOST_TRIALS:
        raise InvalidInput(
            f"The sweep has {total:,} jobs; at most {MOST_TRIALS:,} are allowed.",
            code="too_many_trials",
            param="parameters",
            hint="Use fewer values or seeds, or method `random` with `trials`.",
        )
    if spec.method == "cma_es":
        _check_numbers(spec)
    if spec.depends_on_results:
        _check_combinations(spec)
    names: dict[str, str] = {}
    for variation in _to_check(spec):
        job = _check_job(spec, variation)
        if spec.method in ("grid", "ladder"):
            _check_differs(spec, variation, job, names)


def _check_numbers(spec: SweepSpec) -> None:
    hint = "Use method `tpe`, which chooses words, flags and single parameters as well."
    for path, parameter in spec.parameters.items():
        if isinstance(parameter, list) and (not is_numbers(parameter) or len(set(parameter)) < 2):
            raise InvalidInput(
                "Method `cma_es` varies numbers: a range, or a list of two or more different numbers.",
                code="not_numbers",
                param=f"parameters.{path}",
                hint=hint,
            )
    if len(spec.parameters) < 2:
        raise InvalidInput(
            "Method `cma_es` needs two parameters or more.",
            code="too_few_parameters",
            param="parameters",
            hint=hint,
        )


def _check_combinations(spec: SweepSpec) -> None:
    values = finite_values(spec)
    combinations = math.inf if values is None else math.prod(map(len, values.values()))
    if spec.trials is not None and combinations < spec.trials:
        raise InvalidInput(
            f"The parameters have {combinations} combinations, fewer than the {spec.trials} settings to try.",
            code="too_few_combinations",
            param="trials",
            hint="Lower `trials`, or use method `grid`, which tries all combinations.",
        )


def _to_check(spec: SweepSpec) -> Iterator[Variation]:
    """Variations to check: all of a grid or ladder (for one seed), else ends of ranges and random ones."""
    if spec.method in ("grid", "ladder"):
        for variation in trials(spec):
            if variation.seed == spec.seed_values[0]:
                yield variation
        return
    first = {path: _ends(parameter)[0] for path, parameter in spec.parameters.items()}
    for path, parameter in spec.parameters.items():
        for value in _ends(parameter):
            yield Variation(0, 0, "", first | {path: value}, spec.seed_values[0])
    for number in range(min(CHECKED, spec.trials or 0)):
        yield Variation(0, 0, "", random_setting(spec, number), spec.seed_values[0])


def _check_job(spec: SweepSpec, variation: Variation) -> JobSpec:
    try:
        job = job_of(spec, variation, "sweep")
    except InvalidInput as error:
        raise blamed(spec, variation, error.param or "", error.message, error.hint, error.code) from None
    job_spec = validated(spec, variation, job)
    if spec.halving is not None:
        _check_halving(spec.halving, job_spec)
    return job_spec


def _check_differs(spec: SweepSpec, variation: Variation, job: JobSpec, names: dict[str, str]) -> None:
    """Raise InvalidInput if an earlier setting has the same job. names: settings by their job as JSON."""
    key = job.model_dump_json(exclude={"name"})
    if key not in names:
        names[key] = variation.name
        return
    is_ladder = spec.method == "ladder"
    raise InvalidInput(
        f"The settings {names[key]!r} and {variation.name!r} give the same job.",
        code="equal_settings",
        param=f"rungs[{variation.setting - 1}]" if is_ladder else "parameters",
        hint="A rung has to change the job: remove it, or set another value."
        if is_ladder
        else "Name each value once, and a field such as `adapter` before its parts such as `adapter.rank`.",
    )


def validated(spec: SweepSpec, variation: Variation, job: dict[str, Any]) -> JobSpec:
    try:
        return JobSpec.model_validate(job)
    except ValidationError as error:
        problem = problems(error.errors(), job, None)[0]
        place = problem["param"] or ""
        message = f"{place}: {problem['message']}" if place else problem["message"]
        raise blamed(spec, variation, place, message, problem["hint"]) from None


def _check_halving(halving: Halving, job: JobSpec) -> None:
    if not has_held_out_rows(job):
        raise InvalidInput(
            "Halving compares jobs by held-out reward, but at least one job has no held-out rows.",
            code="no_held_out_rows",
            param="halving",
            hint="Name a dataset as job.data.held_out and set job.evaluation.rows above 0, or leave halving out.",
        )
    every = job.evaluation.every_steps
    before_the_end = (job.limits.steps - 1) // every if every else 0
    if before_the_end < halving.first:
        raise InvalidInput(
            f"Halving needs {halving.first} evaluations before a job's last step; with {job.limits.steps} steps there "
            f"{'is' if before_the_end == 1 else 'are'} {before_the_end}.",
            code="too_few_evaluations",
            param="halving",
            hint="Lower job.evaluation.every_steps, raise job.limits.steps, or leave halving out.",
        )


def has_held_out_rows(job: JobSpec) -> bool:
    data = job.data
    return job.evaluation.rows > 0 and (data.held_out is not None or data.held_out_rows != 0)


def blamed(
    spec: SweepSpec,
    variation: Variation,
    place: str,
    message: str,
    hint: str | None,
    code: str = "invalid_spec",
) -> InvalidInput:
    for path, value in variation.parameters.items():
        if _overlap(path, place):
            param = f"parameters.{path}"
            if spec.method == "ladder":
                rung = next(index for index, rung in enumerate(spec.rungs) if path in rung.set)
                param = f"rungs[{rung}].set.{path}"
            return InvalidInput(f"{message} (the value is {short(value)})", code=code, param=param, hint=hint)
    param = f"job.{place}" if place else "job"
    settings = f" (with {variation.name})" if variation.name and variation.parameters else ""
    return InvalidInput(message + settings, code=code, param=param, hint=hint)


def _overlap(path: str, place: str) -> bool:
    one, other = _parts(path), _parts(place)
    shared = min(len(one), len(other))
    return bool(place) and one[:shared] == other[:shared]


def _parts(path: str) -> list[str]:
    return path.replace("[", ".").replace("]", "").split(".")


def _types(job: dict[str, Any]) -> dict[str, Any]:
    try:
        return JobSpec.model_validate(job).model_dump(mode="json")
    except ValidationError:
        return {}


def set_value(
    job: dict[str, Any], path: str, value: Any, types: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Set the field at a dotted path, in which list items have their index or name."""
    *parents, last = _parts(path)
    part: Any = job
    default: Any = types
    for name in parents:
        part = _child(part, name)
        default = default.get(name) if isinstance(default, Mapping) else None
        if (
            isinstance(part, dict)
            and "type" not in part
            and isinstance(default, Mapping)
            and "type" in default
        ):
            part["type"] = default["type"]
    if isinstance(part, list) and last.isdigit() and int(last) < len(part):
        part[int(last)] = copy.deepcopy(value)
    elif isinstance(part, dict) and last:
        part[last] = copy.deepcopy(value)
    else:
        raise InvalidInput(
            f"A job has no field {path!r}.",
            code="unknown_path",
            param=path,
            hint="Use a dotted path such as optimizer.learning_rate or rewards.correct.weight.",
        )


def _child(part: Any, name: str) -> Any:
    if isinstance(part, dict):
        return part.setdefault(name, {})
    if not isinstance(part, list):
        return None
    if name.isdigit():
        return part[int(name)] if int(name) < len(part) else None
    return next((item for item in part if isinstance(item, dict) and item.get("name") == name), None)


def random_setting(spec: SweepSpec, number: int) -> dict[str, Any]:
    generator = random.Random(f"{spec.seed}/{number}")
    return {path: _drawn(parameter, generator) for path, parameter in spec.parameters.items()}


def _drawn(parameter: list[Any] | ParameterRange, generator: random.Random) -> Any:
    if isinstance(parameter, list):
        return generator.choice(parameter)
    return at(parameter, generator.random())


def at(scale: ParameterRange, share: float) -> float:
    if share in (0, 1):
        end = scale.max if share else scale.min
        return int(end) if scale.integer else end
    if scale.log:
        return rounded(scale, scale.min * (scale.max / scale.min) ** share)
    return rounded(scale, scale.min + share * (scale.max - scale.min))


def rounded(scale: ParameterRange, value: float) -> float:
    if scale.integer:
        return min(max(round(value), int(scale.min)), int(scale.max))
    return min(max(float(f"{value:.6g}"), scale.min), scale.max)


def is_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def finite_values(spec: SweepSpec) -> dict[str, list[Any]] | None:
    values: dict[str, list[Any]] = {}
    for path, parameter in spec.parameters.items():
        if isinstance(parameter, list):
            values[path] = list({json.dumps(value, sort_keys=True): value for value in parameter}.values())
        elif parameter.integer and parameter.max - parameter.min < MOST_TRIALS:
            values[path] = list(range(int(parameter.min), int(parameter.max) + 1))
        else:
            return None
    return values


def _values(parameter: list[Any] | ParameterRange) -> list[Any]:
    if isinstance(parameter, list):
        return parameter
    points = parameter.points or 2
    return list(dict.fromkeys(at(parameter, point / (points - 1)) for point in range(points)))


def _ends(parameter: list[Any] | ParameterRange) -> list[Any]:
    return parameter if isinstance(parameter, list) else [at(parameter, 0.0), at(parameter, 1.0)]


def _settings(spec: SweepSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    if spec.method == "ladder":
        total: dict[str, Any] = {}
        yield "as it is", {}
        for rung in spec.rungs:
            total = total | rung.set
            yield "+ " + (rung.name or label(rung.set)), total
    elif spec.method == "grid":
        paths = list(spec.parameters)
        combinations = product(*(_values(parameter) for parameter in spec.parameters.values()))
        for combination in islice(combinations, MOST_TRIALS):
            setting = dict(zip(paths, combination, strict=True))
            yield label(setting), setting
    else:
        for number in range(spec.trials or 0):
            setting = random_setting(spec, number)
            yield label(setting), setting


def label(setting: Mapping[str, Any]) -> str:
    """Name of a setting, such as `dapo, learning_rate 0.001`."""
    words = [
        str(value) if path == PRESET else f"{path.rpartition('.')[2]} {short(value)}"
        for path, value in setting.items()
    ]
    return ", ".join(words) or "as it is"


def short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "…"


def varied_paths(spec: SweepSpec) -> list[str]:
    paths = dict.fromkeys([*spec.parameters, *(path for rung in spec.rungs for path in rung.set)])
    return [*paths, *(["seed"] if spec.seeds is not None else [])]
