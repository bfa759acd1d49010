"""Reads a source's imports before it runs; in a child, since it parses untrusted text."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence


class ModuleNotAllowed(Exception):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def scan(source: str, libraries: Mapping[str, Sequence[str]]) -> tuple[list[str], tuple[str, int] | None]:
    """Return the loadable modules a source imports, and (module, line) of the first import that must fail."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return [], None
    imports = list(_imports(tree))
    names = {name for name, _, _ in imports} | set(_attributes(tree))
    loadable = [module for modules in libraries.values() for module in modules]
    named = [module for module in loadable if any(n == module or n.startswith(module + ".") for n in names)]
    strangers = [
        (top, line)
        for name, line, guarded in imports
        if not guarded and (top := name.partition(".")[0]) not in libraries
        if top not in sys.stdlib_module_names
    ]
    return named, min(strangers, key=lambda stranger: stranger[1], default=None)


def refuse(stranger: tuple[str, int], libraries: Mapping[str, Sequence[str]], absent: Sequence[str]) -> None:
    module, line = stranger
    if module in absent:
        raise ModuleNotAllowed(
            f"the module {module!r} is allowed, but not installed where the sandbox runs (extra: rewards)",
            line,
        )
    allowed = ", ".join(sorted(libraries)) or "none here"
    raise ModuleNotAllowed(
        f"the module {module[:80]!r} cannot be imported by a reward: allowed are the standard library and "
        f"these libraries: {allowed}",
        line,
    )


def _imports(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, guarded = waiting.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, guarded
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno, guarded
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno, guarded
        guarded = guarded or isinstance(node, ast.Try | ast.TryStar)
        waiting += [(inner, guarded) for inner in ast.iter_child_nodes(node)]


def _attributes(tree: ast.Module) -> Iterator[str]:
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute) and len(parts) < 8:
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in bound:
            yield ".".join([bound[inner.id], *reversed(parts)])
