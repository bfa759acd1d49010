"""Checks of algorithm parts from installed packages; prints problems as JSON if run."""

import inspect
import json
import sys
from typing import Any

from reinforge.algorithm import plugins
from reinforge.algorithm.plugin_functions import call_problem
from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.algorithm.plugin_functions import OwnFunctionError, own_function


def checked_spec(raw: dict[str, Any]) -> JobSpec:
    algorithm = raw.get("algorithm") or {}
    for name, version in (algorithm.get("packages") or {}).items():
        if problem := plugins.package_problem(name, version):
            raise JobFailure(
                f"This worker cannot train the job as specified: {problem}.",
                code="package_missing",
                hint=f"Install it on the worker (pip install {name}=={version}), start the worker again, and resume.",
                retryable=True,
            )
    for kind in plugins.named_parts(algorithm):
        fault = plugins.installed().blocked.get(kind)
        if problem := str(fault) if fault else function_problem(*kind):
            raise JobFailure(
                problem,
                code="package_broken",
                hint="Fix the package or install one that works, start the worker again, and resume. "
                "`reinforge doctor` checks all of them.",
                retryable=True,
            )
    return JobSpec.model_validate(raw)


def function_problem(part: str, kind: str) -> str | None:
    installed = plugins.installed()
    model = installed.parts.get(part, {}).get(kind)
    if model is None:
        return None
    package = installed.owners[(part, kind)]
    try:
        function = own_function(part, kind)
    except OwnFunctionError as error:
        return str(error)
    if function is None:
        return f"{package} provides no function for {part} `{kind}`"
    problem = call_problem(part, inspect.signature(function), plugins.parameters_of(part, model))
    return f"{part} `{kind}` of {package} does not fit: {problem}" if problem else None


def main() -> None:
    kinds = [(part, kind) for part, parts in plugins.installed().parts.items() for kind in parts]
    json.dump([problem for part, kind in kinds if (problem := function_problem(part, kind))], sys.stdout)


if __name__ == "__main__":
    main()
