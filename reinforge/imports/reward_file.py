"""A Python file with rewards: OpenAI's `grade`, Predibase's functions, TRL's, or a script that trains with TRL."""

import ast
from dataclasses import dataclass, field
from typing import Any

from reinforge.errors import InvalidInput
from reinforge.imports import trl
from reinforge.imports.grader import reward_name
from reinforge.imports.project import Project
from reinforge.parsing.python_source import parse

_NO_COLUMNS = {
    "prompts", "completions", "completion_ids", "prompt_ids", "trainer_state", "log_metric", "log_extra", "self",
    "environments", "prompt", "messages", "tools",
}  # fmt: skip
"""Parameters and columns that are not the user's own."""
_NOT_IN_A_SANDBOX = {
    "trl", "transformers", "torch", "datasets", "peft", "unsloth", "vllm", "accelerate", "wandb", "predibase", "openai",
    "requests", "httpx", "deepspeed", "bitsandbytes",
}  # fmt: skip


@dataclass
class Found:
    """A function that scores."""

    name: str
    spelling: str
    """`openai`, `predibase` or `trl`."""
    node: ast.FunctionDef | ast.AsyncFunctionDef
    columns: set[str] = field(default_factory=set)


def project(text: str, filename: str, model: str) -> Project:
    """Raises InvalidInput for code that does not parse or scores nothing."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f" at line {line}" if line else ""
        raise InvalidInput(
            f"{filename} is no Python{where}: {error}.", code="invalid_reward", param="file"
        ) from error
    script = trl.read(tree)
    functions = [each for each in rewards(tree) if not script.functions or each.name in script.functions]
    if not functions:
        raise InvalidInput(
            f"{filename} defines no reward function.",
            code="invalid_reward",
            param="file",
            hint="Known: grade(sample, item), reward_fn(prompt, completion, example), f(completions, **columns).",
        )
    found = Project(origin=filename, job={"model": model, "data": {"dataset": "data.jsonl"}})
    found.files["reward.py"], left_out = _needed(tree, text, [each.name for each in functions])
    found.columns = sorted(set().union(*(each.columns for each in functions)))
    found.conversations = any(_reads_messages(each.node) for each in functions if each.spelling == "trl")
    weights = script.weights if len(script.weights) == len(script.functions) else []
    order = script.functions or [each.name for each in functions]
    for each in functions:
        reward: dict[str, Any] = {"type": "python", "name": reward_name(each.name)}
        reward |= {"path": "reward.py", "entry": each.name}
        if weights:
            reward["weight"] = weights[order.index(each.name)]
        found.job.setdefault("rewards", []).append(reward)
    found.job |= script.job
    if left_out:
        found.notes.append(f"reward.py has what the rewards need; left out: {', '.join(left_out)}.")
    for module in sorted(_imports(parse(found.files["reward.py"])) & _NOT_IN_A_SANDBOX):
        found.notes.append(f"reward.py imports {module}, which sandboxes do not have: replace it.")
    found.notes += script.notes
    return found


def rewards(tree: ast.Module) -> list[Found]:
    """Public functions of the module that are spelled as a reward, by the rules of the sandbox."""
    found = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        needed = parameters[: len(parameters) - len(node.args.defaults)]
        names = {*parameters, *(each.arg for each in node.args.kwonlyargs)}
        open_ended = {node.args.kwarg.arg} if node.args.kwarg else set()
        if "completions" in names:
            read = read_keys(node, open_ended) | (names - {"completions"})
            found.append(Found(node.name, "trl", node, read - _NO_COLUMNS))
        elif needed == ["sample", "item"] or (node.name == "grade" and len(needed) == 2):
            found.append(Found(node.name, "openai", node, read_keys(node, {needed[1]}) - _NO_COLUMNS))
        elif needed == ["prompt", "completion", "example"] or (node.name == "reward_fn" and len(needed) == 3):
            found.append(Found(node.name, "predibase", node, read_keys(node, {needed[2]}) - _NO_COLUMNS))
    return found


def read_keys(tree: ast.AST, names: set[str]) -> set[str]:
    """Constant keys that are read of variables with these names: `item["a"]`, `item.get("a")`."""
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
    """It takes completions apart as messages: `completion[0]["content"]`."""
    return any(
        isinstance(each, ast.Subscript)
        and isinstance(each.slice, ast.Constant)
        and each.slice.value == "content"
        for each in ast.walk(node)
    )


def _imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def _needed(tree: ast.Module, text: str, wanted: list[str]) -> tuple[str, list[str]]:
    """The top-level statements that the functions need, in their order, and what else there was.

    A file of rewards alone stays as it is: what it does besides may be needed.
    """
    others = [node for node in tree.body if _runs(node)]
    if not others:
        return text if text.endswith("\n") else text + "\n", []
    defined = {name: node for node in tree.body for name in _defines(node)}
    kept: list[ast.stmt] = []
    waiting = list(wanted)
    while waiting:
        node = defined.get(waiting.pop())
        if node is None or node in kept:
            continue
        kept.append(node)
        waiting += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    lines = text.splitlines()
    pieces = []
    for node in sorted(kept, key=lambda node: node.lineno):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        pieces.append("\n".join(lines[first - 1 : node.end_lineno]))
    left = [f"line {node.lineno}" for node in others if node not in kept]
    return "\n\n".join(pieces) + "\n", left


def _runs(node: ast.stmt) -> bool:
    """It does something when the module is loaded, or brings what a sandbox does not have."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return bool(_imports(node) & _NOT_IN_A_SANDBOX)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        names = {
            each.func.id
            for each in ast.walk(node)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        return bool(names & {"GRPOConfig", "GRPOTrainer", "LoraConfig", "load_dataset"})
    return isinstance(node, ast.If | ast.For | ast.With | ast.Try | ast.While)


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [each.asname or each.name.partition(".")[0] for each in node.names]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
