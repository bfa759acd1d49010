"""vLLM command that serves a deployment's weights on another machine."""

import shlex

from backend.base_models.sources import chosen_template, plain
from backend.models import BaseModel
from reinforge.base_models.chat_templates import TEMPLATES
from reinforge.schemas.deployments import VllmCommand

MAX_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)


TEMPLATE_FILE = "./chat_template.jinja"


def command(name: str, model: BaseModel, rank: int | None, *, adapter: bool) -> VllmCommand:
    path, revision, notes = _place(model)
    template = TEMPLATES.get(chosen_template(model.source) or "")
    words = ["vllm", "serve", path, *(["--revision", revision] if revision else [])]
    words += ["--chat-template", TEMPLATE_FILE] if template is not None else []
    notes += _about_template(model, template)
    if not adapter:
        words += ["--served-model-name", name]
        return VllmCommand(command=shlex.join(words), chat_template=template, notes=notes)
    largest = next((allowed for allowed in MAX_LORA_RANKS if rank is not None and rank <= allowed), None)
    words += ["--enable-lora", "--lora-modules", f"{name}=./{name}"]
    if largest is not None:
        words += ["--max-lora-rank", str(largest)]
    elif rank is not None:
        notes.append(f"vLLM serves adapters of rank {MAX_LORA_RANKS[-1]} at most; this one has {rank}.")
    notes.insert(0, f"Download the adapter and unpack it into ./{name} first.")
    return VllmCommand(
        command=shlex.join(words),
        folder=f"./{name}",
        rank=rank,
        max_lora_rank=largest,
        chat_template=template,
        notes=notes,
    )


def _about_template(model: BaseModel, template: str | None) -> list[str]:
    if template is not None:
        return [
            f"The model has no chat template of its own: {TEMPLATE_FILE} holds the one chosen for it here."
        ]
    if model.has_chat_template:
        return []
    return [
        "The model has no chat template, and vLLM refuses to chat with it: ask /v1/completions, with the texts of the "
        "messages as `prompt`, an empty line between them."
    ]


def _place(model: BaseModel) -> tuple[str, str | None, list[str]]:
    source = plain(model.source)
    kind, _, rest = source.partition(":")
    if kind == "hub":
        name, _, revision = rest.partition("@")
        return name, revision or None, []
    if kind == "builtin":
        note = (
            f"./{rest} stands for the folder of the model that comes with Reinforge: worker/starter/{rest}."
        )
        return f"./{rest}", None, [note]
    return source, None, [f"{source} is a folder on the worker: copy it to where vLLM runs."]
