"""Checks the signatures of a package's functions from their source, without loading torch."""

import ast
import inspect
from collections.abc import Iterable
from importlib import util
from pathlib import Path

from reinforge.parsing.python_source import parse

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "shaping": ("rows", "state"),
    "selection": ("rows", "rewards", "state"),
    "advantage": ("rows", "rewards", "keep"),
    "surrogate": ("terms",),
    "aggregation": ("tokens",),
}
"""Positional arguments of the function of each part; the part's settings follow as keywords."""


def call_problem(slot: str, signature: inspect.Signature, parameters: Iterable[str]) -> str | None:
    """Why a function with this signature cannot be called; None if it can."""
    names = ARGUMENTS[slot]
    try:
        signature.bind(*names, **dict.fromkeys(parameters))
    except TypeError as error:
        call = ", ".join([*names, *(f"{name}=…" for name in parameters)])
        return f"it is called as ({call}), and its signature is {signature}: {error}"
    return None


def function_problem(slot: str, module: str, name: str, parameters: Iterable[str]) -> str | None:
    """Why `module:name` cannot be called; None if it can, or if the source does not show it."""
    module_spec = util.find_spec(module)  # loads the packages that the module is in, not the module
    if module_spec is None:
        return f"there is no module {module}"
    if not module_spec.origin or not module_spec.origin.endswith(".py"):
        return None
    tree = parse(Path(module_spec.origin).read_text(encoding="utf-8"))
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if defined and not defined[-1].decorator_list:
        problem = call_problem(slot, _signature(defined[-1]), parameters)
        return f"{module}:{name} does not fit: {problem}" if problem else None
    if not defined and _bound(tree).isdisjoint({name, "*"}):
        return f"{module} has no function {name}"
    return None


class _Default:
    def __repr__(self) -> str:
        return "…"


def _signature(node: ast.FunctionDef) -> inspect.Signature:
    """Signature of a function definition, without annotations and with `…` for each default."""
    parameters, arguments = [], node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for number, one in enumerate(positional):
        kind = (
            inspect.Parameter.POSITIONAL_ONLY
            if number < len(arguments.posonlyargs)
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        has_default = number >= len(positional) - len(arguments.defaults)
        parameters.append(
            inspect.Parameter(one.arg, kind, default=_Default() if has_default else inspect.Parameter.empty)
        )
    if arguments.vararg:
        parameters.append(inspect.Parameter(arguments.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        empty = inspect.Parameter.empty if default is None else _Default()
        parameters.append(inspect.Parameter(one.arg, inspect.Parameter.KEYWORD_ONLY, default=empty))
    if arguments.kwarg:
        parameters.append(inspect.Parameter(arguments.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _bound(tree: ast.Module) -> set[str]:
    """Names that a module binds anywhere, by import, assignment or definition; `*` for a star import."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names
