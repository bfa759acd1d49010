"""Checks of algorithm parts from installed packages, before a job trains with them.

`python -m worker.trainer.plugins` prints the problems as JSON for `reinforge doctor`.
"""

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
    """The resolved specification, after checking that all its package parts can be used here.

    Raises JobFailure `package_missing` or `package_broken`, both retryable.
    """
    algorithm = raw.get("algorithm") or {}
    for name, version in (algorithm.get("packages") or {}).items():
        if problem := plugins.package_problem(name, version):
            raise JobFailure(
                f"This worker cannot train the job as it was asked for: {problem}.",
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


def function_problem(slot: str, kind: str) -> str | None:
    """Why a package part's function cannot be called; None if it can, and for built-in parts."""
    installed = plugins.installed()
    model = installed.parts.get(slot, {}).get(kind)
    if model is None:
        return None
    package = installed.owners[(slot, kind)]
    try:
        function = own_function(slot, kind)
    except OwnFunctionError as error:
        return str(error)
    if function is None:
        return f"{package} says no function for {slot} `{kind}`"
    problem = call_problem(slot, inspect.signature(function), plugins.parameters_of(slot, model))
    return f"{slot} `{kind}` of {package} does not fit: {problem}" if problem else None


def main() -> None:
    kinds = [(slot, kind) for slot, parts in plugins.installed().parts.items() for kind in parts]
    json.dump([problem for slot, kind in kinds if (problem := function_problem(slot, kind))], sys.stdout)


if __name__ == "__main__":
    main()
