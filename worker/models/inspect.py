"""Reads facts about a base model from its configuration and the headers of its weights."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reinforge.base_models.config import hidden_size, whole_number
from reinforge.errors import InvalidInput
from worker.isolated.process import Apart
from worker.models.architectures import check_architecture
from worker.models.bounds import CONTEXT_KEYS, MAX_ELEMENTS, check_config, check_linear_layers, label
from worker.models.licence import find_licence
from worker.models.safetensors import Tensor, read_header
from worker.models.sources import ModelStore, OnDownload, content_files
from worker.models.tokenizer_files import chat_template, read_json

_NOT_LINEAR = ("embed", "wte", "wpe", "norm", "lm_head", "embed_out", "output_layer", "shared", "score")
_EXPERTS = "experts"


def inspect_model(
    source: str,
    store: ModelStore,
    *,
    token: str | None = None,
    added: bool = False,
    any_folder: bool = False,
    begun: OnDownload | None = None,
    hashing: Callable[[], None] | None = None,
    apart: Apart | None = None,
) -> dict[str, Any]:
    """The fields of `BaseModelInfo` that a worker can read, with the revision pinned. Raises InvalidInput,
    Unavailable `hub_unavailable`.
    """
    model = store.find(source, token=token, added=added, any_folder=any_folder, begun=begun)
    folder = model.folder
    facts = read_facts(folder, {}) if apart is None else apart.ask("facts", folder, {}, param="source")
    if hashing is not None:
        hashing()
    return {
        "source": model.source,
        "revision": model.commit,
        "bytes": sum(path.stat().st_size for path in content_files(folder)),
        "sha256": store.content_hash(folder),
    } | facts


def read_facts(folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    config = read_json(folder / "config.json")
    check_config(config)
    check_architecture(config)
    tensors = read_tensors(folder)
    parameters = sum(tensor.size for tensor in tensors)
    if parameters > MAX_ELEMENTS:
        raise InvalidInput(
            f"The weights declare {parameters:,} parameters; at most {MAX_ELEMENTS:,} are allowed.",
            code="damaged_weights",
            hint="Copy or download them again.",
            param="source",
        )
    targets = linear_layers(tensors)
    check_linear_layers(targets)
    template = chat_template(folder)
    return {
        "shape": shape(config, tensors),
        "architecture": _architecture(config),
        "parameters": parameters,
        "context_length": context_length(config),
        "has_chat_template": template is not None,
        "chat_template_source": template.source if template else None,
        "vocabulary": whole_number(config, ("vocab_size",)),
        "lora_targets": targets,
        "licence": label(find_licence(folder)),
    }


def read_tensors(folder: Path) -> list[Tensor]:
    index = read_json(folder / "model.safetensors.index.json").get("weight_map")
    if isinstance(index, dict):
        parts = sorted({str(name) for name in index.values()})
        missing = [name for name in parts if Path(name).name != name or not (folder / name).is_file()]
        if missing:
            raise InvalidInput(
                f"{len(missing)} of {len(parts)} weight files are missing: {', '.join(missing[:3])}.",
                code="damaged_weights",
                hint="Check that the download is complete.",
                param="source",
            )
        paths = [folder / name for name in parts]
    else:
        paths = sorted(folder.glob("*.safetensors"))
    tensors = {tensor.name: tensor for path in paths for tensor in read_header(path)}
    return list(tensors.values())


def linear_layers(tensors: list[Tensor]) -> list[str]:
    """Names of linear layers, such as q_proj, without the output layer; also `experts` if the model has some,
    although "all-linear" excludes them.
    """
    names = {tensor.name.split(".")[-2] for tensor in linear_tensors(tensors)}
    return sorted(names | ({_EXPERTS} if _blocks(tensors) else set()))


def linear_tensors(tensors: list[Tensor]) -> list[Tensor]:
    blocks = _blocks(tensors)
    # Experts may stand in a layer itself, with its number before them.
    without = {block for block in blocks if not block.isdigit()} | ({_EXPERTS, "router"} if blocks else set())
    return [tensor for tensor in tensors if _is_linear(tensor) and without.isdisjoint(tensor.name.split("."))]


def _blocks(tensors: list[Tensor]) -> set[str]:
    paths = [tensor.name.removesuffix(".weight").split(".") for tensor in tensors]
    layers = {path[path.index(_EXPERTS) - 1] for path in paths if _EXPERTS in path[1:]}
    stacks = Counter(
        (".".join(path[:-1]), tensor.shape[0])
        for path, tensor in zip(paths, tensors, strict=True)
        if len(tensor.shape) == 3 and _EXPERTS not in path
    )
    return layers | {place.rpartition(".")[2] for (place, _), count in stacks.items() if count > 1}


def shape(config: dict[str, Any], tensors: list[Tensor]) -> dict[str, int | None]:
    heads = whole_number(config, ("num_attention_heads", "n_head", "num_heads"))
    hidden = hidden_size(config)
    head_dim = whole_number(config, ("head_dim",)) or (hidden // heads if hidden and heads else None)
    linear = linear_tensors(tensors)
    return {
        "layers": whole_number(config, ("num_hidden_layers", "n_layer", "num_layers")),
        "hidden": hidden,
        "intermediate": whole_number(config, ("intermediate_size", "n_inner", "ffn_dim")),
        "kv_heads": whole_number(config, ("num_key_value_heads",)) or heads,
        "head_dim": head_dim,
        "vocabulary": whole_number(config, ("vocab_size",)),
        "lora_per_rank": sum(sum(tensor.shape) for tensor in linear),
        "linear": None if _blocks(tensors) else sum(tensor.size for tensor in linear),
    }


def _is_linear(tensor: Tensor) -> bool:
    path = tensor.name.split(".")
    if len(tensor.shape) != 2 or path[-1] != "weight" or len(path) < 2:
        return False
    return not any(part in path[-2] for part in _NOT_LINEAR)


def context_length(config: dict[str, Any]) -> int | None:
    return whole_number(config, CONTEXT_KEYS)


def _architecture(config: dict[str, Any]) -> str | None:
    listed = config.get("architectures")
    if isinstance(listed, list) and listed:
        return str(listed[0])
    return str(config["model_type"]) if "model_type" in config else None
