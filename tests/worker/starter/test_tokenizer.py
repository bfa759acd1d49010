"""The committed tokenizer: one token per character, and a template that renders the training prompt."""

import subprocess
import sys

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from worker.starter import CHECKPOINT
from worker.starter.tokenizer import (
    ASSISTANT,
    END,
    PAD,
    SPECIALS,
    USER,
    build_tokenizer,
    prompt_text,
    write_tokenizer,
)

TEXTS = ["47+85=", "<think>7+5=12,4+8+1=13</think><answer>132</answer>", " two  spaces\n", "naïve 数 🙂", ""]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(CHECKPOINT)  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", TEXTS)
def test_text_makes_the_round_trip(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert len(ids) == len(text.encode())
    assert ids == Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")).encode(text).ids


def test_the_template_renders_one_user_message_as_the_training_prompt(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    messages = [{"role": "user", "content": "47+85="}]
    rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert rendered == prompt_text("47+85=") == "<|user|>47+85=<|assistant|>"


def test_an_assistant_message_ends_as_a_trained_completion_does(tokenizer: PreTrainedTokenizerFast) -> None:
    messages = [{"role": "user", "content": "1+1="}, {"role": "assistant", "content": "<answer>2</answer>"}]
    rendered = tokenizer.apply_chat_template(messages, tokenize=False)
    assert rendered == prompt_text("1+1=") + "<answer>2</answer>" + END


def test_an_unknown_role_is_refused_by_name(tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(Exception, match="not tool"):
        tokenizer.apply_chat_template([{"role": "tool", "content": "x"}])


def test_turn_marks_are_single_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = [tokenizer(token)["input_ids"] for token in SPECIALS]
    assert ids == [[0], [1], [2], [3], [4]]
    assert (tokenizer.eos_token, tokenizer.pad_token, tokenizer.bos_token) == (END, PAD, None)
    assert tokenizer.decode(tokenizer(f"{USER}7{ASSISTANT}")["input_ids"], skip_special_tokens=True) == "7"


def test_the_committed_files_are_those_the_script_writes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    write_tokenizer(tmp_path)
    for written in tmp_path.iterdir():
        assert written.read_bytes() == (CHECKPOINT / written.name).read_bytes(), written.name
    assert build_tokenizer().get_vocab_size() == 261


def test_prompts_render_and_encode_without_the_training_stack() -> None:
    program = f"""
import json, sys
from pathlib import Path
import jinja2
from tokenizers import Tokenizer
folder = Path({str(CHECKPOINT)!r})
template = jinja2.Environment().from_string((folder / "chat_template.jinja").read_text())
config = json.loads((folder / "tokenizer_config.json").read_text())
messages = [{{"role": "user", "content": "47+85="}}]
text = template.render(messages=messages, add_generation_prompt=True, eos_token=config["eos_token"])
assert text == "<|user|>47+85=<|assistant|>", text
assert len(Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids) == 8
import worker.starter.corpus, worker.starter.tokenizer
assert not {{"torch", "transformers"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
