"""Names of trainable architectures: the causal language models of transformers, read from its source code."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from reinforge.parsing.python_source import parse

_FILES = ("modeling_auto.py", "auto_mappings.py")
_TABLE = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"


@cache
def causal_models() -> frozenset[str]:
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        return frozenset()
    for name in _FILES:
        path = Path(spec.origin).parent / "models" / "auto" / name
        if path.is_file() and (models := _table(parse(path.read_text(encoding="utf-8")))):
            return models
    return frozenset()


def _table(tree: ast.Module) -> frozenset[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == _TABLE for target in targets):
            pairs = [pair for pair in ast.walk(node) if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
            return frozenset(
                str(pair.elts[0].value) for pair in pairs if isinstance(pair.elts[0], ast.Constant)
            )
    return frozenset()


def check_architecture(config: dict[str, Any]) -> None:
    """Raise InvalidInput for an unsupported architecture: `runs_code` if the model brings code, else
    `unknown_architecture`.
    """
    supported = causal_models()
    kind = config.get("model_type")
    if not supported or kind in supported:
        return
    if config.get("auto_map"):
        raise InvalidInput(
            f"The architecture {kind!r} is defined by the model's own code, which Reinforge never runs.",
            code="runs_code",
            hint="Choose a model whose architecture is part of transformers.",
            param="source",
        )
    named = f"of the type {kind!r}" if kind else "without a `model_type` in its config.json"
    raise InvalidInput(
        f"A model {named} is not a causal language model that this worker's transformers supports.",
        code="unknown_architecture",
        hint="Choose a causal language model (Qwen, Llama, Gemma, GPT-2 …); a newer one may need a newer "
        "transformers on the workers.",
        param="source",
    )
