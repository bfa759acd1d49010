"""Continuation by a model's own files, which a child process reads."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.agents.templates import ENDS, byte_tokenizer, wheel_templates, write_folder
from reinforge.errors import JobFailure
from worker.environment.continuation import Continuation
from worker.models.chat import renderer
from worker.rollout.folder_text import FolderText
from worker.rpc.continuation import folder_continuation

TOOLS = [
    {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": {"type": "object"}}}
]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FolderText]:
    template = wheel_templates()["qwen3"]
    text = FolderText(write_folder(tmp_path_factory.mktemp("qwen3"), template, byte_tokenizer(template)))
    yield text
    text.close()


def test_suffixes_of_the_child_are_those_of_the_template(process: FolderText) -> None:
    end, other = (_id(process.folder, mark) for mark in ("<|im_end|>", "<|endoftext|>"))
    continuation = Continuation.prove(process, TOOLS, [end, other], reply=True)
    assert (continuation.notation, continuation.parallel_calls, continuation.reply) == ("hermes", True, True)
    result = {"role": "tool", "name": "add", "content": "é"}
    reply = {"role": "user", "content": "Again"}
    turns = [
        ([result], end),
        ([result, result], end),
        ([reply], end),
        ([result, reply], end),
        ([result], other),
    ]
    suffixes = continuation.suffixes([*turns, ([result], None)])
    here = folder_continuation(process.folder, TOOLS)
    assert suffixes == [tuple(here.suffix(messages, ended)) for messages, ended in [*turns, ([result], None)]]
    texts = process.raw(suffixes)
    assert (
        texts[0]
        == "\n<|im_start|>user\n<tool_response>\né\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    assert texts[2] == "\n<|im_start|>user\nAgain<|im_end|>\n<|im_start|>assistant\n"
    # A turn that no end of the template's has ended is ended by the suffix.
    assert texts[4] == texts[5] == f"<|im_end|>{texts[0]}"
    assert continuation.suffix_ids([result], end) == suffixes[0]
    assert continuation.read('<tool_call>{"name": "add"}</tool_call><|im_end|>').calls[0].arguments == {}


def test_a_template_that_cannot_continue_ends_the_job(process: FolderText) -> None:
    with pytest.raises(JobFailure, match="ends turns with a token") as failure:
        Continuation.prove(process, TOOLS, [_id(process.folder, "<eos>")])
    assert failure.value.code == "template_not_continuable"


def _id(folder: Path, mark: str) -> int:
    assert mark in ENDS
    (id,) = renderer(folder).encode(mark)
    return id
