"""Texts of completions whose tool calls are written with special tokens."""

from pathlib import Path

from benchmarks.agents.templates import byte_tokenizer, wheel_templates, write_folder
from worker.isolated.sample_prompts import sample_prompts
from worker.rollout.text import Text
from worker.serving.text import decoding
from worker.serving_client.protocol import ServingRequest

TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}


class _Decoder:
    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return "text" if skip_special_tokens else "<|mark|>text"


def test_prompts_with_tools_name_the_notation(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "x"}]
    for name, notation in {"lfm2_v2": "python_list", "llama3_1": "llama", "lfm2": None}.items():
        template = wheel_templates()[name]
        folder = write_folder(tmp_path / name, template, byte_tokenizer(template))
        payload = {"prompts": [messages], "tools": [TOOL], "max_tokens": 8}
        assert [sample_prompts(folder, payload)["notation"] for _ in range(2)] == [notation] * 2
        assert sample_prompts(folder, payload | {"tools": None})["notation"] is None


def test_special_tokens_stay_where_they_are_marks_of_calls() -> None:
    text = Text(_Decoder())
    for notation, decoded in {"python_list": "<|mark|>text", "hermes": "text", None: "text"}.items():
        request = ServingRequest(id="a", model="m", folder="f", prompts=[], notation=notation)
        assert decoding(request, text)([[1]]) == [decoded]
