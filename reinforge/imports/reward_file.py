"""Imports Python rewards of OpenAI, Predibase and TRL, and TRL training scripts."""

import ast
from dataclasses import dataclass, field
from typing import Any

from reinforge.errors import InvalidInput
from reinforge.imports import trl
from reinforge.imports.grader import reward_name
from reinforge.imports.project import ImportedProject
from reinforge.parsing.python_source import parse

_NO_COLUMNS = {
    "prompts", "completions", "completion_ids", "prompt_ids", "trainer_state", "log_metric", "log_extra", "self",
    "environments", "prompt", "messages", "tools",
}  # fmt: skip
_NOT_IN_A_SANDBOX = {
    "trl", "transformers", "torch", "datasets", "peft", "unsloth", "vllm", "accelerate", "wandb", "predibase", "openai",
    "requests", "httpx", "deepspeed", "bitsandbytes",
}  # fmt: skip


@dataclass
class RewardFunction:
    name: str
    spelling: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    columns: set[str] = field(default_factory=set)


def project(text: str, filename: str, model: str) -> ImportedProject:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f" at line {line}" if line else ""
        raise InvalidInput(
            f"{filename} is not valid Python{where}: {error}.", code="invalid_reward", param="file"
        ) from error
    script = trl.read(tree)
    functions = [
        function for function in rewards(tree) if not script.functions or function.name in script.functions
    ]
    if not functions:
        raise InvalidInput(
            f"{filename} defines no reward function.",
            code="invalid_reward",
            param="file",
            hint="Known: grade(sample, item), reward_fn(prompt, completion, example), f(completions, **columns).",
        )
    imported = ImportedProject(origin=filename, job={"model": model, "data": {"dataset": "data.jsonl"}})
    imported.files["reward.py"], left_out = _needed(tree, text, [function.name for function in functions])
    imported.columns = sorted(set().union(*(function.columns for function in functions)))
    imported.conversations = any(
        _reads_messages(function.node) for function in functions if function.spelling == "trl"
    )
    weights = script.weights if len(script.weights) == len(script.functions) else []
    order = script.functions or [function.name for function in functions]
    for function in functions:
        reward: dict[str, Any] = {"type": "python", "name": reward_name(function.name)}
        reward |= {"path": "reward.py", "entry": function.name}
        if weights:
            reward["weight"] = weights[order.index(function.name)]
        imported.job.setdefault("rewards", []).append(reward)
    imported.job |= script.job
    if left_out:
        imported.notes.append(f"reward.py has what the rewards need; left out: {', '.join(left_out)}.")
    for module in sorted(_imports(parse(imported.files["reward.py"])) & _NOT_IN_A_SANDBOX):
        imported.notes.append(f"reward.py imports {module}, which sandboxes do not have: replace it.")
    imported.notes += script.notes
    return imported


def rewards(tree: ast.Module) -> list[RewardFunction]:
    functions = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
        needed = parameters[: len(parameters) - len(node.args.defaults)]
        names = {*parameters, *(parameter.arg for parameter in node.args.kwonlyargs)}
        open_ended = {node.args.kwarg.arg} if node.args.kwarg else set()
        if "completions" in names:
            read = read_keys(node, open_ended) | (names - {"completions"})
            functions.append(RewardFunction(node.name, "trl", node, read - _NO_COLUMNS))
        elif needed == ["sample", "item"] or (node.name == "grade" and len(needed) == 2):
            functions.append(
                RewardFunction(node.name, "openai", node, read_keys(node, {needed[1]}) - _NO_COLUMNS)
            )
        elif needed == ["prompt", "completion", "example"] or (node.name == "reward_fn" and len(needed) == 3):
            functions.append(
                RewardFunction(node.name, "predibase", node, read_keys(node, {needed[2]}) - _NO_COLUMNS)
            )
    return functions


def read_keys(tree: ast.AST, names: set[str]) -> set[str]:
    """Constant keys that code reads from the variables `names`: `item["a"]`, `item.get("a")`."""
    keys: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            owner, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr not in ("get", "pop"):
                continue
            owner, key = node.func.value, node.args[0]
        else:
            continue
        named = isinstance(owner, ast.Name) and owner.id in names
        if named and isinstance(key, ast.Constant) and isinstance(key.value, str):
            keys.add(key.value)
    return keys


def _reads_messages(node: ast.AST) -> bool:
    return any(
        isinstance(child, ast.Subscript)
        and isinstance(child.slice, ast.Constant)
        and child.slice.value == "content"
        for child in ast.walk(node)
    )


def _imports(tree: ast.AST) -> set[str]:
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module.partition(".")[0])
    return modules


def _needed(tree: ast.Module, text: str, functions: list[str]) -> tuple[str, list[str]]:
    others = [node for node in tree.body if _runs(node)]
    if not others:
        return text if text.endswith("\n") else text + "\n", []
    defined = {name: node for node in tree.body for name in _defines(node)}
    needed: list[ast.stmt] = []
    waiting = list(functions)
    while waiting:
        node = defined.get(waiting.pop())
        if node is None or node in needed:
            continue
        needed.append(node)
        waiting += [name.id for name in ast.walk(node) if isinstance(name, ast.Name)]
    lines = text.splitlines()
    pieces = []
    for node in sorted(needed, key=lambda node: node.lineno):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        pieces.append("\n".join(lines[first - 1 : node.end_lineno]))
    omitted = [f"line {node.lineno}" for node in others if node not in needed]
    return "\n\n".join(pieces) + "\n", omitted


def _runs(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return bool(_imports(node) & _NOT_IN_A_SANDBOX)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        names = {
            child.func.id
            for child in ast.walk(node)
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Name)
        }
        return bool(names & {"GRPOConfig", "GRPOTrainer", "LoraConfig", "load_dataset"})
    return isinstance(node, ast.If | ast.For | ast.With | ast.Try | ast.While)


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
