"""Continuation of conversations by the chat templates of open models, and what is refused."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agents.templates import byte_tokenizer, merging_tokenizer, wheel_templates, write_folder
from benchmarks.agents.turns import Counts, converse, random_tools
from reinforge.errors import InvalidInput
from worker.models.chat import renderer
from worker.models.continuation import ContinuationProof
from worker.rpc.continuation import folder_continuation, notation_of

CONTINUED = {
    "gemma": {"gemma4_v2"},
    "glm": {"glm4moe"},
    "harmony": {"gptoss"},
    "python_list": {"lfm2_2_5", "lfm2_2_5_v2", "lfm2_2_5_vl", "lfm2_v2"},
    "llama": {"llama3_1", "llama3_2"},
    "invoke_xml": {"muse_glimmer"},
    "function_xml": {
        *("nemotron_3_5_lightning", "nemotron_3_nano", "nemotron_3_super", "nemotron_3_ultra"),
        *("qwen3_5_nothink", "qwen3_5_think", "qwen3_6", "qwen3_8"),
    },
    "hermes": {"qwen2_5", "qwen3", "qwen3_instruct_2507", "qwen3_vl"},
}
RESULT_IN_TURN = {"gemma4", "gemma4_v3", "gemma4_v4", "gemma4_v5", "diffusion_gemma"}
WITHOUT_CALLS = {"lfm2"}
FAMILIES = (
    "glm4moe",
    "gptoss",
    "lfm2_v2",
    "llama3_1",
    "muse_glimmer",
    "nemotron_3_nano",
    "qwen3",
    "qwen3_5_think",
)
TOOLS = random_tools(random.Random(0))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    templates, root = wheel_templates(), tmp_path_factory.mktemp("templates")

    @cache
    def folder(name: str, merges: bool = False) -> Path:
        tokenizer = (merging_tokenizer if merges else byte_tokenizer)(templates[name])
        return write_folder(root / f"{name}-{merges}", templates[name], tokenizer)

    return folder


def test_templates_of_the_wheel_continue_or_say_why_not(folders: Any) -> None:
    """41 templates: 28 have a place for tools, 27 also for calls, 22 continue, and all of the 27 are read."""
    proofs: dict[str, ContinuationProof] = {}
    refusals: dict[str, str] = {}
    for name in wheel_templates():
        try:
            proofs[name] = folder_continuation(folders(name), TOOLS).prove()
        except InvalidInput as error:
            assert (error.code, error.param) == ("template_not_continuable", "environment.type")
            refusals[name] = error.message
    by_notation: dict[str, set[str]] = {}
    for name, proof in proofs.items():
        by_notation.setdefault(proof.notation, set()).add(name)
    assert by_notation == CONTINUED
    assert {name for name in refusals if "the model's own turn" in refusals[name]} == RESULT_IN_TURN
    assert {name for name in refusals if "not supported" in refusals[name]} == WITHOUT_CALLS
    others = refusals.keys() - RESULT_IN_TURN - WITHOUT_CALLS
    assert all("no place for tools" in refusals[name] for name in others)
    assert [name for name in proofs if not proofs[name].parallel_calls] == ["llama3_1", "llama3_2"]
    assert [name for name in proofs if not proofs[name].reply] == ["gptoss"]
    assert {notation_of(folders(name)) for name in RESULT_IN_TURN} == {"gemma"}


def test_a_template_behind_whose_answers_no_user_can_reply_is_refused(folders: Any) -> None:
    for tools in (TOOLS, []):
        with pytest.raises(InvalidInput) as caught:
            folder_continuation(folders("gptoss"), tools).prove(reply=True)
        assert (caught.value.code, caught.value.param) == ("template_not_continuable", "environment.reply")
        assert "with a token that does not end model output" in caught.value.message
        assert folder_continuation(folders("qwen3"), tools).prove(reply=True).reply


@pytest.mark.parametrize("merges", [False, True])
def test_suffixes_are_the_tokens_of_the_rendered_conversation(folders: Any, merges: bool) -> None:
    """1,000 turns with random results: no token differs."""
    counts = Counts()
    while counts.turns < 500:
        for number, name in enumerate(FAMILIES):
            rng = random.Random(counts.turns + number)
            template = folder_continuation(folders(name, merges), random_tools(rng))
            parallel = name != "llama3_1"
            for _ in range(5):
                counts.add(
                    converse(
                        template, renderer(folders(name, merges)), rng.randint(1, 5), rng, parallel=parallel
                    )
                )
    assert (counts.suffix_mismatches, counts.text_mismatches) == (0, 0)
    assert counts.texts_compared > 50
    # Without merges texts have one tokenization; with them, tokenizing a whole history changes what was sampled.
    assert (counts.retokenized_differently > 0) == merges
