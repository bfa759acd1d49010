"""Random conversations with tools, built by continuation and compared with the template's own rendering."""

import random
from dataclasses import dataclass, fields
from typing import Any

from worker.models.chat import PromptRenderer
from worker.models.continuation import Message, TemplateContinuation

_LETTERS = "abc XYZ 0123\n\t{}[]\"'\\/:,.<>|é中😀\u0301\u200f"
_PIECES = ("<|im_end|>", "</tool_call>", '{"a": [1, null]}', "\n\n", "None", "<think>", "ﬃ", "👩\u200d🔬")
_NAMES = ("add", "look_up", "search_the_web", "f1")


@dataclass
class Counts:
    turns: int = 0
    suffix_mismatches: int = 0
    """Turns whose suffix is not what the whole conversation ends with, in tokens."""
    texts_compared: int = 0
    text_mismatches: int = 0
    """Conversations of templates that keep their history, whose built text is not the rendered one."""
    retokenized_differently: int = 0
    """Of these, conversations that tokenization of the whole would give other ids than were sampled."""

    def add(self, other: "Counts") -> None:
        for entry in fields(self):
            setattr(self, entry.name, getattr(self, entry.name) + getattr(other, entry.name))


def random_tools(rng: random.Random) -> list[dict[str, Any]]:
    names = rng.sample(_NAMES, rng.randint(1, 3))
    parameter = {"type": "string", "description": random_text(rng, 8, plain=True)}
    schema = {"type": "object", "properties": {"a": parameter}, "required": ["a"]}
    return [
        {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": schema}}
        for name in names
    ]


def random_text(rng: random.Random, most: int, *, plain: bool = False) -> str:
    """Any text; plain: without marks of templates and white space at its ends."""
    letters = "".join(rng.choices(_LETTERS, k=rng.randint(0, most)))
    if plain:
        return f"x{letters.replace('<', '').replace('|', '').replace(chr(92), '')}x"
    return "".join(
        piece for letter in letters for piece in (letter, *rng.choices((*_PIECES, ""), [1] * 8 + [92]))
    )


def cut(text: str, most: int) -> str:
    """A text without its middle, as results are that are too long."""
    half = most // 2
    return (
        text if len(text) <= most else f"{text[:half]}\n[{len(text) - most} characters cut]\n{text[-half:]}"
    )


def converse(
    template: TemplateContinuation,
    renderer: PromptRenderer,
    turns: int,
    rng: random.Random,
    *,
    parallel: bool,
) -> Counts:
    """One conversation of so many turns."""
    counts = Counts(turns=turns)
    messages: list[Message] = [{"role": "user", "content": random_text(rng, 40, plain=True)}]
    tools = template.tools
    ids, keeps = renderer.encode(renderer.render(messages, tools)), True
    whole: list[int] = []
    for _ in range(turns):
        before = renderer.render(messages, tools)
        messages.append(_call(rng, tools, 2 if parallel and rng.random() < 0.3 else 1))
        sampled, end, as_rendered = _sampled(template, renderer, messages, before, rng)
        results = _results(rng, messages[-1])
        messages.extend(results)
        suffix = template.suffix(results, end)
        after = renderer.render(messages, tools)
        keeps = keeps and as_rendered and after.startswith(before + renderer.decode(sampled))
        ids = [*ids, *sampled, *suffix]
        whole = renderer.encode(after)
        counts.suffix_mismatches += whole[len(whole) - len(suffix) :] != suffix
    if keeps:
        counts.texts_compared = 1
        counts.text_mismatches = int(renderer.decode(ids) != renderer.decode(whole))
        counts.retokenized_differently = int(ids != whole)
    return counts


def _sampled(
    template: TemplateContinuation,
    renderer: PromptRenderer,
    messages: list[Message],
    before: str,
    rng: random.Random,
) -> tuple[list[int], int, bool]:
    """Ids of the turn as the template writes it, their last one, and whether they are that: else they are random."""
    after = renderer.render(messages, template.tools, generation=False)
    end = rng.choice(list(template.ends_of(_results(rng, messages[-1]))))
    mark = template.ends[end]
    if not after.startswith(before):
        return [*renderer.encode(random_text(rng, 40)), end], end, False
    text = after[len(before) :]
    place = text.rfind(mark)
    return renderer.encode((text if place < 0 else text[:place]) + mark), end, True


def _call(rng: random.Random, tools: list[dict[str, Any]], count: int) -> Message:
    calls = [
        {
            "id": f"call{place:05d}",
            "type": "function",
            "function": {
                "name": rng.choice(tools)["function"]["name"],
                "arguments": {"a": random_text(rng, 30, plain=True), "b": rng.randint(-9, 9)},
            },
        }
        for place in range(count)
    ]
    content = rng.choice(["", random_text(rng, 20, plain=True)])
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _results(rng: random.Random, message: Message) -> list[Message]:
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "name": call["function"]["name"],
            "content": cut(random_text(rng, rng.choice([0, 20, 400])), 200),
        }
        for call in message["tool_calls"]
    ]
