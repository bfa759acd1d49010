"""`reinforge/client/aio` from `reinforge/client`: the same client for asyncio, written once.

Every function of the client that waits for the network becomes a coroutine, every iterator over it an asynchronous
one; what does not wait is imported from where it stands. `--check` fails when the two have drifted apart.
"""

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1] / "reinforge" / "client"
SHARED = {"__init__", "wire"}
"""Modules that wait for nothing."""
LEAVES = {
    ("http", "request"): ("coroutine", "request"),
    ("http", "stream"): ("context", "stream"),
    ("http", "close"): ("coroutine", "aclose"),
    ("response", "read"): ("coroutine", "aread"),
    ("response", "iter_bytes"): ("iterator", "aiter_bytes"),
    ("*", "iter_sse"): ("iterator", "aiter_sse"),
    ("time", "sleep"): ("coroutine", "sleep"),
}
"""Last name of the receiver, method → what it is, and what it is called there."""
RENAMED = {"__enter__": "__aenter__", "__exit__": "__aexit__"}

Key = tuple[str | None, str]
"""Class (None for a function of a module), name."""
Function = ast.FunctionDef


@dataclass
class Module:
    name: str
    source: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def functions(self) -> Iterator[tuple[Key, Function]]:
        for node in self.tree.body:
            if isinstance(node, Function):
                yield (None, node.name), node
            if isinstance(node, ast.ClassDef):
                yield from (
                    ((node.name, member.name), member) for member in node.body if isinstance(member, Function)
                )


def load() -> list[Module]:
    modules = []
    for path in sorted(CLIENT.glob("*.py")):
        if path.stem not in SHARED:
            source = path.read_text(encoding="utf-8")
            module = Module(path.stem, source, ast.parse(source))
            for parent in ast.walk(module.tree):
                module.parents |= dict.fromkeys(ast.iter_child_nodes(parent), parent)
            modules.append(module)
    return modules


class Kinds:
    """Which functions wait, by a fixed point over who calls whom."""

    def __init__(self, modules: list[Module]) -> None:
        self.kinds_of: dict[Key, str] = {}
        while True:
            before = dict(self.kinds_of)
            for module in modules:
                for key, function in module.functions():
                    if (kind := self._kind(module, key, function)) is not None:
                        self.kinds_of[key] = kind
            if self.kinds_of == before:
                break
        self.classes = {name for name, _ in self.kinds_of if name is not None}

    def of_call(self, call: ast.AST, owner: str | None) -> tuple[str, str] | None:
        """(kind, name there) of a call that waits."""
        if not isinstance(call, ast.Call):
            return None
        target = call.func
        if isinstance(target, ast.Name):
            kind = self.kinds_of.get((None, target.id))
            return None if kind is None else (kind, target.id)
        if not isinstance(target, ast.Attribute):
            return None
        receiver = target.value
        last = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", None)
        for place in (str(last), "*"):
            if (place, target.attr) in LEAVES:
                return LEAVES[place, target.attr]
        its_class = "Transport" if last in ("_transport", "transport") else owner if last == "self" else None
        kind = self.kinds_of.get((its_class, target.attr)) if its_class else None
        return None if kind is None else (kind, target.attr)

    def _kind(self, module: Module, key: Key, function: Function) -> str | None:
        calls = [call for node in ast.walk(function) if (call := self.of_call(node, key[0])) is not None]
        if key[1] in RENAMED:
            return "coroutine"
        if not calls:
            return None
        if any(
            isinstance(node, ast.Name) and node.id == "contextmanager" for node in function.decorator_list
        ):
            return "context"
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)):
            return "iterator"
        returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        lazy = [call for node in returns if node and (call := self.of_call(node, key[0]))]
        return "lazy" if lazy and lazy[0][0] in ("iterator", "lazy") else "coroutine"


class Twin:
    """One module's text with the edits that make it asynchronous."""

    def __init__(self, module: Module, kinds: Kinds) -> None:
        self.module, self.kinds = module, kinds
        lines = module.source.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._text = module.source.encode()
        self._edits: list[tuple[int, int, str]] = []

    def text(self) -> str | None:
        """None for a module in which nothing waits."""
        sync_names = {name for (owner, name) in self.kinds.kinds_of if owner is None} | self.kinds.classes
        if not any(getattr(node, "name", None) in sync_names for node in self.module.tree.body):
            return None
        imports, left = [], []
        for node in self.module.tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reinforge.client."):
                self._import(node, sync_names)
            elif getattr(node, "name", None) in sync_names:
                owner = node.name if isinstance(node, ast.ClassDef) else None
                self._visit(node, owner)
            elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
                name = getattr(node, "name", None) or next(iter(_targets(node)), None)
                left.append(str(name))
                self._replace(node, "")
            elif isinstance(node, ast.Expr) and node is not self.module.tree.body[0]:
                self._replace(node, "")  # what was said of a constant
        left = [name for name in left if name != "__all__" and name != "None"]
        if left:
            imports.append(f"from reinforge.client.{self.module.name} import {', '.join(left)}")
        return self._assembled(imports)

    def _assembled(self, imports: list[str]) -> str:
        out = self._text
        for start, end, new in sorted(self._edits, reverse=True):
            out = out[:start] + new.encode() + out[end:]
        head = ast.get_docstring(self.module.tree, clean=False) or ""
        body = out.decode().split('"""', 2)[2]
        lines = [
            f'"""{head.rstrip()}"""',
            "",
            f"# Made from reinforge/client/{self.module.name}.py by scripts/async_client.py: change that one.",
            "",
            "import asyncio",
            "from collections.abc import AsyncIterator",
            "from contextlib import asynccontextmanager",
            *imports,
        ]
        return "\n".join(lines) + "\n" + body

    def _import(self, node: ast.ImportFrom, sync_names: set[str]) -> None:
        there = [alias.name for alias in node.names if alias.name in sync_names]
        here = [alias.name for alias in node.names if alias.name not in sync_names]
        module = str(node.module)
        lines = [f"from {module} import {', '.join(here)}"] if here else []
        if there:
            names = ", ".join(self._renamed(name) for name in there)
            lines.append(f"from {module.replace('client.', 'client.aio.')} import {names}")
        self._replace(node, "\n".join(lines))

    def _renamed(self, name: str) -> str:
        return f"Async{name}" if name in self.kinds.classes else name

    def _visit(self, root: ast.AST, owner: str | None) -> None:
        if isinstance(root, ast.ClassDef):
            self._word(root, f"class {root.name}", f"class Async{root.name}")
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and node.id in self.kinds.classes:
                self._replace(node, f"Async{node.id}")
            if isinstance(node, Function):
                self._define(node, owner)
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "httpx.Client":
                self._replace(node, "httpx.AsyncClient")
            if isinstance(node, ast.YieldFrom):
                self._delegate(node, owner)
            elif (call := self.kinds.of_call(node, owner)) is not None:
                self._call(node, *call)  # type: ignore[arg-type]

    def _define(self, node: Function, owner: str | None) -> None:
        kind = self.kinds.kinds_of.get((owner, node.name))
        if kind is None:
            return
        if kind != "lazy":
            self._word(node, "def ", "async def ")
        if node.name in RENAMED:
            self._word(node, f" {node.name}(", f" {RENAMED[node.name]}(")
        if kind != "coroutine" and node.returns is not None:
            at = self._offset(node.returns.lineno, node.returns.col_offset)
            if self._text[at:].startswith(b"Iterator["):
                self._edits.append((at, at, "Async"))
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Name) and decorator.id == "contextmanager":
                self._replace(decorator, "asynccontextmanager")

    def _call(self, node: ast.Call, kind: str, name: str) -> None:
        parent = self.module.parents[node]
        if isinstance(node.func, ast.Attribute):
            self._rename(node.func, name)
        if kind == "coroutine" and not isinstance(parent, ast.YieldFrom):
            tight = isinstance(parent, ast.Attribute | ast.Subscript)
            start, end = self._span(node)
            self._edits.append((start, start, "(await " if tight else "await "))
            if tight:
                self._edits.append((end, end, ")"))
        elif kind in ("iterator", "lazy") and isinstance(parent, ast.For) and parent.iter is node:
            self._word(parent, "for ", "async for ")
        elif kind == "context" and isinstance(parent, ast.withitem):
            self._word(self.module.parents[parent], "with ", "async with ")

    def _rename(self, target: ast.Attribute, name: str) -> None:
        if ast.unparse(target) == "time.sleep":
            self._replace(target, "asyncio.sleep")
        elif target.attr != name:
            _, end = self._span(target)
            self._edits.append((end - len(target.attr), end, name))

    def _delegate(self, node: ast.YieldFrom, owner: str | None) -> None:
        """`yield from` does not exist in asynchronous iterators."""
        waits = self.kinds.of_call(node.value, owner) is not None
        start, _ = self._span(node)
        inner, end = self._span(node.value)
        indent = " " * (node.col_offset + 4)
        self._edits.append((start, inner, "async for each in " if waits else "for each in "))
        self._edits.append((end, end, f":\n{indent}yield each"))

    def _word(self, node: ast.AST, old: str, new: str) -> None:
        """Replace the first occurrence of a word at or behind a node's beginning."""
        start, _ = self._span(node)
        at = self._text.index(old.encode(), start)
        self._edits.append((at, at + len(old.encode()), new))

    def _replace(self, node: ast.AST, new: str) -> None:
        self._edits.append((*self._span(node), new))

    def _span(self, node: ast.AST) -> tuple[int, int]:
        begin = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return begin, self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _targets(node: ast.AST) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def write(folder: Path) -> None:
    """All modules of the twin, tidied."""
    modules = load()
    kinds = Kinds(modules)
    for module in modules:
        if (text := Twin(module, kinds).text()) is not None:
            (folder / f"{module.name}.py").write_text(text, encoding="utf-8")
    (folder / "__init__.py").write_text(
        '"""The client for asyncio: the same resources and methods as `reinforge.client`, made from them."""\n\n'
        "from reinforge.client.aio.client import AsyncReinforge\n\n"
        '__all__ = ["AsyncReinforge"]\n'
    )
    config = ["--config", str(CLIENT.parents[1] / "pyproject.toml")]
    ruff = [sys.executable, "-m", "ruff"]
    fix = [*ruff, "check", "--quiet", "--fix", "--select", "F401,I", *config, str(folder)]
    subprocess.run(fix, check=True)
    subprocess.run([*ruff, "format", "--quiet", *config, str(folder)], check=True)


def main() -> int:
    target = CLIENT / "aio"
    if "--check" not in sys.argv:
        target.mkdir(exist_ok=True)
        write(target)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary))
        made = {path.name: path.read_text() for path in Path(temporary).glob("*.py")}
    there = {path.name: path.read_text() for path in target.glob("*.py")}
    if made != there:
        changed = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
        print(f"reinforge/client/aio has drifted: {', '.join(changed)}. Run scripts/async_client.py.")
        return 1
    print(f"client: {len(made)} modules of reinforge/client/aio are as made")
    return 0


if __name__ == "__main__":
    sys.exit(main())
