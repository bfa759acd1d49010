"""Finds the dataset columns that a reward requires: literal names that its code reads for every row."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from .spellings import OPENAI, PREDIBASE, TRL, Entry

_ITEM_AT = {OPENAI: 1, PREDIBASE: 2}
_OF_TRL = ("prompts", "completions", "judges", "trainer_state", "log_metric", "log_extra")
_OF_SAMPLE = ("output_text", "output_json", "output_tools", "output_audio", "choices")
_NO_COLUMNS = frozenset((*_OF_TRL, *_OF_SAMPLE))
_MISSING_KEY = frozenset(("KeyError", "LookupError", "Exception", "BaseException"))
_ASKING = frozenset(("get", "pop", "setdefault"))
_DEEPEST = 8

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Exit = ast.Return | ast.Raise | ast.Break | ast.Continue


def columns_read(source: str, entries: Iterable[Entry]) -> dict[str, list[str]]:
    module = ast.parse(source)
    functions = {node.name: node for node in module.body if isinstance(node, _Function)}
    optional = frozenset(_optional(module))
    columns_by_entry = {}
    for entry in entries:
        columns: Iterable[str] = ()
        if entry.spelling == TRL:
            columns = entry.required - _NO_COLUMNS
        elif (function := functions.get(entry.name)) is not None and not function.decorator_list:
            parameters = [*function.args.posonlyargs, *function.args.args]
            at = _ITEM_AT[entry.spelling]
            if at < len(parameters):
                reading = _Reading(functions)
                reading.call(function, parameters[at].arg)
                columns = reading.columns - optional
        columns_by_entry[entry.name] = sorted(columns)
    return columns_by_entry


def _optional(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield from _texts([node.left])
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKING
        ):
            yield from _texts(node.args[:1])
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from _texts([node.slice])


def _texts(nodes: Sequence[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@dataclass
class _Reading:
    functions: Mapping[str, _Function]
    columns: set[str] = field(default_factory=set)
    _under_way: set[tuple[str, str]] = field(default_factory=set)

    def call(self, function: _Function, item: str) -> None:
        place = (function.name, item)
        if place in self._under_way or len(self._under_way) >= _DEEPEST or _rebinds(function, item):
            return
        self._under_way.add(place)
        _Walk(self, item, _derived(function, item), _locals(function)).block(function.body, guarded=False)
        self._under_way.discard(place)


@dataclass
class _Walk:
    reading: _Reading
    item: str
    derived: frozenset[str]
    locals: frozenset[str]
    may_have_returned: bool = False

    def block(self, nodes: Iterable[ast.AST], *, guarded: bool) -> None:
        for node in nodes:
            self.visit(node, guarded or self.may_have_returned)

    def visit(self, node: ast.AST, guarded: bool) -> None:
        if isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            return  # it may never be called
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            self.visit(node.test, guarded)
            rest = [child for child in ast.iter_child_nodes(node) if child is not node.test]
            self.block(rest, guarded=guarded or self._decides(node.test))
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.visit(node.iter, guarded)
            self.block([*node.body, *node.orelse], guarded=guarded or self._depends(node.iter))
        elif isinstance(node, ast.Try | ast.TryStar):
            self._try(node, guarded)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self.block(node.items, guarded=guarded)
            self.block(node.body, guarded=guarded or any(map(_suppresses, node.items)))
        elif isinstance(node, ast.Match):
            self.visit(node.subject, guarded)
            self.block(node.cases, guarded=guarded or self._decides(node.subject))
        elif isinstance(node, ast.BoolOp):
            for number, value in enumerate(node.values):
                self.visit(value, guarded or any(map(self._decides, node.values[:number])))
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            self._comprehension(node, guarded)
        else:
            self._plain(node, guarded)

    def _plain(self, node: ast.AST, guarded: bool) -> None:
        if isinstance(node, _Exit) and guarded:
            self.may_have_returned = True
        self.block(ast.iter_child_nodes(node), guarded=guarded)
        if guarded:
            return
        if isinstance(node, ast.Subscript) and self._is_item(node.value):
            self.reading.columns.update(_texts([node.slice]))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            self._handed_on(node, self.reading.functions.get(node.func.id))

    def _try(self, node: ast.Try | ast.TryStar, guarded: bool) -> None:
        self.block(node.body, guarded=guarded or any(map(_catches_missing_key, node.handlers)))
        depends = any(map(self._depends, node.body))
        self.block(node.handlers, guarded=guarded or depends)
        self.block([*node.orelse, *node.finalbody], guarded=guarded)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, guarded: bool
    ) -> None:
        for generator in node.generators:
            self.visit(generator.iter, guarded)
            guarded = guarded or self._depends(generator.iter)
            self.block(generator.ifs, guarded=guarded)
            guarded = guarded or any(map(self._decides, generator.ifs))
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.block(values, guarded=guarded)

    def _handed_on(self, call: ast.Call, function: _Function | None) -> None:
        if function is None or function.decorator_list or any(isinstance(a, ast.Starred) for a in call.args):
            return
        names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
        handed = [name for name, value in zip(names, call.args, strict=False) if self._is_item(value)]
        handed += [keyword.arg for keyword in call.keywords if keyword.arg and self._is_item(keyword.value)]
        for name in handed:
            self.reading.call(function, name)

    def _is_item(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.item

    def _decides(self, condition: ast.AST) -> bool:
        return self._depends(condition) or not _mentions(condition, self.locals)

    def _depends(self, node: ast.AST) -> bool:
        return _mentions(node, self.derived)


def _catches_missing_key(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(not isinstance(kind, ast.Name) or kind.id in _MISSING_KEY for kind in kinds)


def _suppresses(context: ast.withitem) -> bool:
    called = context.context_expr.func if isinstance(context.context_expr, ast.Call) else None
    return getattr(called, "id", getattr(called, "attr", None)) == "suppress"


def _rebinds(function: _Function, item: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == item and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )


def _locals(function: _Function) -> frozenset[str]:
    return frozenset(
        node.arg if isinstance(node, ast.arg) else node.id
        for node in ast.walk(function)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )


def _derived(function: _Function, item: str) -> frozenset[str]:
    names = {item}
    bindings = [(targets, value) for node in ast.walk(function) for targets, value in _bindings(node)]
    while True:
        more = {
            name.id
            for targets, value in bindings
            if _mentions(value, names)
            for target in targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
        if more <= names:
            return frozenset(names)
        names |= more


def _bindings(node: ast.AST) -> Iterator[tuple[list[ast.expr], ast.AST]]:
    if isinstance(node, ast.Assign):
        yield node.targets, node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield [node.target], node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield [node.target], node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield [node.optional_vars], node.context_expr


def _mentions(node: ast.AST, names: AbstractSet[str]) -> bool:
    return any(isinstance(child, ast.Name) and child.id in names for child in ast.walk(node))
