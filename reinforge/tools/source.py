"""Reads the schemas of tools from Python source, without running it."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from reinforge.parsing.python_source import parse
from reinforge.tools.docstrings import Docstring, read_docstring
from reinforge.tools.errors import ToolSourceError
from reinforge.tools.hints import UnsupportedHint, schema_of_hint
from reinforge.tools.schema import ToolFunction, ToolSchema

SourceKind = Literal["functions", "class"]

MAX_SOURCE_BYTES = 256 << 10
HIDDEN_PARAMETERS = frozenset({"state", "item"})
"""Parameters that the platform fills; the model does not see them."""
NOT_TOOLS = frozenset({"reset", "get_reward"})
REPLY = "reply"
RESERVED = frozenset({REPLY})
"""Names of public functions that are not tools: `reply` is the simulated user."""
REPLY_PARAMETERS = frozenset({"messages", "item", "state"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def schemas_of(
    source: str, *, file: str = "tools.py", kind: SourceKind = "functions"
) -> tuple[ToolSchema, ...]:
    """Schemas of a module's public functions, or of its environment class's methods, in source order.

    A docstring's text before its sections is the description; `Args:` describes parameters.
    Raises ToolSourceError.
    """
    module = _parsed(source, file)
    functions = _public(module.body)
    if kind == "class":
        environment = environment_class(module, file)
        functions = [node for node in _public(environment.body) if node.name not in NOT_TOOLS]
        functions = [node for node in functions if not _is_property(node)]
    else:
        functions = [node for node in functions if node.name not in RESERVED]
    if not functions:
        raise ToolSourceError(
            file, None, "there is no public method besides reset and get_reward." if kind == "class" else
            "there is no public function.", code="no_tools",
            hint="Every public function with type hints and a docstring is a tool: def add(a: int, b: int) -> int: …",
        )  # fmt: skip
    _refuse_doubles(functions, file)
    return tuple(_schema(node, file, method=kind == "class") for node in functions)


def environment_class(module: ast.Module, file: str) -> ast.ClassDef:
    """The one public class with a public `reset`. Raises ToolSourceError if there are none or several."""
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name[:1] != "_"]
    environments = [node for node in classes if any(inner.name == "reset" for inner in _public(node.body))]
    if len(environments) == 1:
        return environments[0]
    if environments:
        names = ", ".join(node.name for node in environments)
        raise ToolSourceError(
            file, environments[1].lineno, f"several classes have a method reset: {names}.",
            code="tool_class_ambiguous", hint="Begin the names of all but one with an underscore.",
        )  # fmt: skip
    if classes:
        raise ToolSourceError(
            file, classes[-1].lineno, f"the class {classes[-1].name} has no method reset.",
            code="tool_class_without_reset",
            hint="Add `def reset(self, **row) -> str | None`. It begins a rollout; its text is shown to the model.",
        )  # fmt: skip
    raise ToolSourceError(
        file, None, "there is no public class.", code="no_tools",
        hint="Write a class with `reset(self, **row)`; its public methods are the tools. For functions, use `python:`.",
    )  # fmt: skip


def has_method(source: str, name: str, *, file: str = "tools.py") -> bool:
    return any(node.name == name for node in _public(environment_class(_parsed(source, file), file).body))


def class_name(source: str, *, file: str = "tools.py") -> str:
    return environment_class(_parsed(source, file), file).name


def check_reply(source: str, *, file: str = "user.py") -> None:
    """Check the source of a simulated user: `def reply(messages, item, state)`. Raises ToolSourceError."""
    functions = [node for node in _public(_parsed(source, file).body) if node.name == REPLY]
    if not functions:
        raise ToolSourceError(
            file, None, "there is no function reply.", code="reply_missing",
            hint="Write `def reply(messages, item, state)`. It returns the user's next message, or None to end.",
        )  # fmt: skip
    _refuse_doubles(functions, file)
    (node,) = functions
    if isinstance(node, ast.AsyncFunctionDef):
        raise _asynchronous(node, file)
    arguments = node.args
    named = [*arguments.args, *arguments.kwonlyargs]
    defaults = [*[None] * (len(arguments.args) - len(arguments.defaults)), *arguments.defaults]
    pairs = zip(named, [*defaults, *arguments.kw_defaults], strict=True)
    others = [
        *arguments.posonlyargs,
        *filter(None, [arguments.vararg]),
        *(
            argument
            for argument, default in pairs
            if default is None and argument.arg not in REPLY_PARAMETERS
        ),
    ]
    if others:
        raise ToolSourceError(
            file, others[0].lineno, f"reply requires {others[0].arg}, which nothing provides.", code="reply_parameters",
            hint="Write `def reply(messages, item, state)`; leave out parameters that it does not need.",
        )  # fmt: skip


def unique_schemas(
    sources: Mapping[str, Sequence[ToolSchema]],
) -> tuple[ToolSchema, ...]:
    """All tools of several sources. Raises ToolSourceError if two share a name."""
    owners: dict[str, str] = {}
    for file, schemas in sources.items():
        for schema in schemas:
            if schema.name in owners:
                raise ToolSourceError(
                    file, None, f"the tool {schema.name} is also in {owners[schema.name]}.", code="tool_name_twice",
                    hint="Rename one of them: a model calls tools by name.",
                )  # fmt: skip
            owners[schema.name] = file
    return tuple(schema for schemas in sources.values() for schema in schemas)


def _parsed(source: str, file: str) -> ast.Module:
    if len(source.encode("utf-8", "replace")) > MAX_SOURCE_BYTES:
        raise ToolSourceError(
            file, None, f"the source has more than {MAX_SOURCE_BYTES >> 10} KiB.", code="tool_source_too_large",
            hint="Move data into columns of the dataset; a tool receives the row as its parameter `item`.",
        )  # fmt: skip
    try:
        return parse(source)
    except SyntaxError as error:
        raise ToolSourceError(
            file, error.lineno, f"{error.msg}.", code="tool_syntax_error", hint="Correct the Python source."
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ToolSourceError(
            file, None, f"the source cannot be parsed: {error or 'it is nested too deeply'}.",
            code="tool_syntax_error", hint="Correct the Python source.",
        ) from error  # fmt: skip


def _public(body: Sequence[ast.stmt]) -> list[Function]:
    return [node for node in body if isinstance(node, Function) and not node.name.startswith("_")]


def _is_property(node: Function) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def _refuse_doubles(functions: Sequence[Function], file: str) -> None:
    lines: dict[str, int] = {}
    for node in functions:
        if node.name in lines:
            raise ToolSourceError(
                file, node.lineno, f"{node.name} is also defined in line {lines[node.name]}.",
                code="tool_name_twice", hint="Rename or remove one of them.",
            )  # fmt: skip
        lines[node.name] = node.lineno


def _schema(node: Function, file: str, *, method: bool) -> ToolSchema:
    if isinstance(node, ast.AsyncFunctionDef):
        raise _asynchronous(node, file)
    if len(node.name) > 64 or not node.name.isascii():
        raise ToolSourceError(
            file, node.lineno, f"the name {node.name[:80]} is not 1 to 64 ASCII letters, digits and underscores.",
            code="tool_name_invalid", hint="Rename the function.",
        )  # fmt: skip
    docstring = read_docstring(ast.get_docstring(node) or "")
    if not docstring.description:
        raise ToolSourceError(
            file, node.lineno, f"{node.name} has no docstring.", code="tool_without_docstring",
            hint="Say in its first lines what it does and when to call it: this is all that the model sees.",
        )  # fmt: skip
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter, default in _parameters(node, file, method=method):
        properties[parameter.arg] = _parameter_schema(parameter, default, docstring, node, file)
        if default is None:
            required.append(parameter.arg)
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return ToolSchema(
        function=ToolFunction(name=node.name, description=docstring.description, parameters=parameters)
    )


def _asynchronous(node: ast.AsyncFunctionDef, file: str) -> ToolSourceError:
    return ToolSourceError(
        file, node.lineno, f"{node.name} is async, which is not supported.", code="tool_is_async",
        hint="Write `def`: tools run in a jail without a network, so there is nothing to await.",
    )  # fmt: skip


def _parameters(node: Function, file: str, *, method: bool) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """(parameter, default) of each parameter that the model fills."""
    arguments = node.args
    if star := arguments.vararg or arguments.kwarg:
        raise ToolSourceError(
            file, star.lineno, f"{node.name} takes *{star.arg}, which has no schema.", code="tool_takes_any_arguments",
            hint="Name every parameter and give it a type hint; use list[…] or dict[str, …] for many values.",
        )  # fmt: skip
    if arguments.posonlyargs and not (method and len(arguments.posonlyargs) == 1):
        parameter = arguments.posonlyargs[-1]
        raise ToolSourceError(
            file, parameter.lineno, f"{node.name} takes {parameter.arg} by position only.",
            code="tool_takes_positions", hint="Remove the `/`: a model's arguments have names.",
        )  # fmt: skip
    positional = [*arguments.posonlyargs, *arguments.args]
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    pairs = list(zip(positional, missing + list(arguments.defaults), strict=True))
    pairs = pairs[1:] if method and not static else pairs
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from (
        (parameter, default)
        for parameter, default in pairs
        if method or parameter.arg not in HIDDEN_PARAMETERS
    )


def _parameter_schema(
    parameter: ast.arg, default: ast.expr | None, docstring: Docstring, node: Function, file: str
) -> dict[str, Any]:
    if parameter.annotation is None:
        raise ToolSourceError(
            file, parameter.lineno, f"the parameter {parameter.arg} of {node.name} has no type hint.",
            code="tool_without_hint", hint=f"Write one, such as `{parameter.arg}: str`.",
        )  # fmt: skip
    try:
        schema = schema_of_hint(parameter.annotation)
    except UnsupportedHint as error:
        raise ToolSourceError(
            file, parameter.annotation.lineno,
            f"the type hint of {parameter.arg} in {node.name} is not supported: {error.hint}.",
            code="tool_hint_unsupported",
            hint="Use str, int, float, bool, list[…], dict[str, …], Literal[…], Optional[…], … | None or "
            "Annotated[…, 'description'].",
        ) from error  # fmt: skip
    if parameter.arg in docstring.parameters:
        schema = {**schema, "description": docstring.parameters[parameter.arg]}
    if default is not None and (value := _constant(default)) is not _NO_CONSTANT:
        schema = {**schema, "default": value}
    return schema


_NO_CONSTANT = object()


def _constant(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NO_CONSTANT
    plain = value is None or isinstance(value, str | int | bool)
    finite = isinstance(value, float) and value - value == 0
    empty = isinstance(value, list | dict) and not value
    return value if plain or finite or empty else _NO_CONSTANT
