"""Tokenizer and chat template of starter-tools: lossless, with a place for tools, and proved to continue."""

from pathlib import Path
from typing import Any

import pytest

from reinforge.environment_spec import ToolsSpec
from reinforge.offline.examples import find
from reinforge.tool_calls import prepared
from worker.models.chat import PromptRenderer
from worker.models.continuation import TemplateContinuation
from worker.starter.tokenizer import END, END_ID
from worker.starter.tools.corpus import tool_of
from worker.starter.tools.tokenizer import SPECIALS, WORDS, build_tokenizer, write_tokenizer

TEXTS = [
    '<tool_call>{"name":"calc"}</tool_call>',
    "what of calculators",
    "naïve 数 🙂\n",
    '{"a": ", not "}',
    "",
]


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> PromptRenderer:
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return PromptRenderer(folder)


@pytest.mark.parametrize("text", TEXTS)
def test_text_makes_the_round_trip(renderer: PromptRenderer, text: str) -> None:
    assert renderer.decode(renderer.encode(text)) == text


def test_marks_are_single_tokens_and_only_roles_are_special() -> None:
    tokenizer = build_tokenizer()
    assert [tokenizer.encode(token).ids for token in SPECIALS] == [[place] for place in range(len(SPECIALS))]
    assert all(len(tokenizer.encode(word).ids) == 1 for word in WORDS)
    ids = tokenizer.encode(f"<tool_call>1</tool_call>{END}").ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<tool_call>1</tool_call>"


@pytest.mark.parametrize("name", ["calculator-agent", "countdown", "lookup"])
def test_the_template_writes_what_the_model_was_trained_on_and_continues(
    renderer: PromptRenderer, name: str
) -> None:
    environment = find(name).spec.environment
    assert isinstance(environment, ToolsSpec)
    tools = [schema.model_dump() for schema in environment.schemas()]
    tool = tool_of({"calculator-agent": "calculation"}.get(name, name))
    user = {"role": "user", "content": "x?"}
    assert renderer.render([user], tools) == f"<|tools|>{tool.line()}<|user|>x?<|assistant|>"
    values = dict.fromkeys(tool.parameters, "1")
    called = {"id": "call_0", "type": "function", "function": {"name": tool.name, "arguments": values}}
    messages: list[dict[str, Any]] = [user, {"role": "assistant", "content": "", "tool_calls": [called]}]
    text = renderer.render(prepared(messages), tools, generation=False)
    assert text.endswith(f"x?<|assistant|>{tool.call(*values.values())}{END}")
    template = TemplateContinuation(renderer.conversation_text, renderer.encode, {END_ID: END}, tools)
    proof = template.prove(reply=True)
    assert (proof.notation, proof.parallel_calls, proof.reply) == ("hermes", True, True)
    suffix = template.suffix([{"role": "tool", "name": tool.name, "content": "17, not 24"}], END_ID)
    assert renderer.decode(suffix) == "<|tool|>17, not 24<|assistant|>"


def test_an_unknown_role_is_refused_by_name(renderer: PromptRenderer) -> None:
    with pytest.raises(Exception, match="not judge"):
        renderer.render([{"role": "judge", "content": "x"}])
