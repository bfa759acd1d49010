"""Checkpoints as rewards, through the real process: classifier, reward model, log-probability of a reference."""

import asyncio
import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from reinforge.errors import InvalidInput, JobFailure
from reinforge.grading.multi import GRADER
from tests.support.processes import all_gone
from tests.support.tiny_models import TEMPLATE, write_tiny_classifier, write_tiny_model
from worker.reward_models.texts import CheckpointTexts, TextFailed
from worker.rewards.assemble import RaterServices, rater
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.rater import RewardInput

PROMPT = [{"role": "user", "content": "2+2="}]
TEXTS = ["good", "a much longer completion than the first", ""]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("checkpoints")
    return {
        "tone": str(write_tiny_classifier(root / "tone", ["negative", "neutral", "positive"])),
        "rm": str(write_tiny_classifier(root / "rm", ["score"], seed=1)),
        "": str(write_tiny_model(root / "base", seed=2)),
        "headless": str(write_tiny_model(root / "headless", seed=3)),
        "none": str(root / "none"),
    }


@pytest.fixture(scope="module")
def services(folders: dict[str, str]) -> Iterator[RaterServices]:
    def refuse(*_: Any) -> Any:
        raise AssertionError("no code runs here")

    made = RaterServices(call=refuse, run_programs=refuse, checkpoints=folders)
    yield made
    pid = made.models.pid
    made.close()
    if pid is not None:
        all_gone([pid])


def rated(services: RaterServices, texts: list[str] = TEXTS, **grader: Any) -> list[RewardResult]:
    rows = [RewardInput(Scorable(text, {"answer": "4", "n": n}, PROMPT), 0) for n, text in enumerate(texts)]
    return asyncio.run(rater(GRADER.validate_python(grader), services).rate(rows))


def tokenizer(path: str) -> Any:
    return AutoTokenizer.from_pretrained(path)


def test_a_classifier_gives_the_value_of_its_labels(services: RaterServices, folders: dict[str, str]) -> None:
    worth = {"positive": 1.0, "negative": -1.0}
    results = rated(services, type="classifier", model="tone", labels=worth, batch_size=2)
    model = AutoModelForSequenceClassification.from_pretrained(folders["tone"]).eval()
    for text, result in zip(TEXTS[:2], results, strict=False):
        ids = torch.tensor([tokenizer(folders["tone"])(text)["input_ids"]])
        shares = model(input_ids=ids).logits.softmax(-1)[0].tolist()
        assert result.value == pytest.approx(shares[2] - shares[0], abs=1e-4)
        assert sum(result.parts.values()) == pytest.approx(1, abs=1e-4)
        assert result.labels == {"": model.config.id2label[max(range(3), key=shares.__getitem__)]}
    likeliest = rated(services, type="classifier", model="tone", labels=worth, output="likeliest")
    assert [result.value for result in likeliest] == [
        worth.get(result.labels[""], 0.0) for result in likeliest
    ]


def test_pairs_reach_an_nli_checkpoint_together(services: RaterServices) -> None:
    plain = rated(services, type="classifier", model="tone", labels={"positive": 1})
    pair = rated(
        services, type="classifier", model="tone", labels={"positive": 1}, hypothesis="{{ item.answer }}"
    )
    assert [a.value for a in plain] != [b.value for b in pair]


def test_a_reward_model_reads_the_conversation_in_its_own_template(
    services: RaterServices, folders: dict[str, str]
) -> None:
    results = rated(services, type="reward_model", model="rm")
    model = AutoModelForSequenceClassification.from_pretrained(folders["rm"]).eval()
    for text, result in zip(TEXTS, results, strict=True):
        ids = tokenizer(folders["rm"])(f"<user>2+2=<assistant>{text}", add_special_tokens=False)["input_ids"]
        assert result.value == pytest.approx(
            float(model(input_ids=torch.tensor([ids])).logits[0, 0]), abs=1e-3
        )
    squashed = rated(services, type="reward_model", model="rm", transform="sigmoid")
    assert squashed[0].value == pytest.approx(1 / (1 + math.exp(-(results[0].value or 0))), abs=1e-6)
    assert (
        rated(services, type="reward_model", model="rm", input="{{ item.answer }}")[0].value
        != results[0].value
    )


TOOLS = "{% for t in tools or [] %}<user>{{ t.function.name }}{% endfor %}"


def test_the_tools_of_a_row_are_in_the_conversation_where_the_template_has_a_place(
    services: RaterServices, folders: dict[str, str], tmp_path: Path
) -> None:
    """Here tools read like a user's message before the first."""
    tools = [{"type": "function", "function": {"name": "1+1="}}]
    before = {"role": "user", "content": "1+1="}
    graders = ({"type": "reward_model", "model": "rm"}, {"type": "reference_logprob", "reference": "42"})
    paths = {name: str(shutil.copytree(folders[name], tmp_path / f"copy-{name}")) for name in ("rm", "")}
    for path in paths.values():
        (Path(path) / "chat_template.jinja").write_text(TOOLS + TEMPLATE)
    copies = replace(services, checkpoints=paths, shared_models=services.models)
    for raw in graders:
        grader = GRADER.validate_python(raw)
        rows = [
            RewardInput(Scorable("good", {}, PROMPT), 0),
            RewardInput(Scorable("good", {}, PROMPT, tools=tools), 0),
            RewardInput(Scorable("good", {}, [before, *PROMPT]), 0),
        ]
        values = [result.value or 0.0 for result in asyncio.run(rater(grader, copies).rate(rows))]
        assert values[1] == pytest.approx(values[2], abs=1e-4)
        assert abs(values[0] - values[1]) > 1e-3


def test_the_reference_is_scored_after_prompt_and_completion(
    services: RaterServices, folders: dict[str, str]
) -> None:
    results = rated(services, type="reference_logprob", reference="{{ item.answer }}2", batch_size=2)
    model, encode = AutoModelForCausalLM.from_pretrained(folders[""]).eval(), tokenizer(folders[""])
    for text, result in zip(TEXTS, results, strict=True):
        # An empty completion leaves nothing to join.
        before = encode("<user>2+2=<assistant>" + (text + "\n" if text else ""), add_special_tokens=False)[
            "input_ids"
        ]
        after = encode("42", add_special_tokens=False)["input_ids"]
        logits = model(input_ids=torch.tensor([before + after])).logits[0].log_softmax(-1)
        expected = sum(float(logits[len(before) + n - 1, id]) for n, id in enumerate(after))
        assert result.parts == {"logprob": pytest.approx(expected, abs=1e-3), "tokens": 2.0}
        assert result.value == pytest.approx(expected / 2, abs=1e-3)
    (likely,) = rated(
        services, ["good"], type="reference_logprob", reference="{{ item.answer }}2", reduce="sum",
        transform="probability",
    )  # fmt: skip
    assert likely.value == pytest.approx(math.exp(results[0].parts["logprob"]), rel=1e-3)


def test_a_row_without_the_column_errs_alone(services: RaterServices) -> None:
    rows = [RewardInput(Scorable("x", item, PROMPT), 0) for item in ({"answer": "4"}, {})]
    grader = GRADER.validate_python({"type": "reference_logprob"})
    good, bad = asyncio.run(rater(grader, services).rate(rows))
    assert (good.status, bad.status, bad.code) == ("ok", "exception", "invalid_variable")


@pytest.mark.parametrize(
    ("grader", "says"),
    [
        ({"type": "classifier", "model": "tone", "labels": {"happy": 1}}, "no label happy; it has negative"),
        ({"type": "classifier", "model": "rm", "labels": {"x": 1}}, "no labels"),
        ({"type": "reward_model", "model": "tone"}, "3 outputs"),
        ({"type": "reward_model", "model": "headless"}, "lacks"),
        ({"type": "classifier", "model": "none", "labels": {"x": 1}}, "no config.json"),
    ],
)
def test_an_unsuitable_checkpoint_is_reported(
    services: RaterServices, grader: dict[str, Any], says: str
) -> None:
    with pytest.raises(JobFailure, match=says) as caught:
        rated(services, **grader)
    assert caught.value.code == "reward_model_unusable"
    assert caught.value.retryable


def test_an_unknown_checkpoint_is_named(services: RaterServices) -> None:
    with pytest.raises(InvalidInput, match="no checkpoint 'other'"):
        rated(services, type="reward_model", model="other")


GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 8192}
LOOP = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3
MESSAGES = [([{"role": "user", "content": "?"}], None)]


@pytest.fixture
def hostile(folders: dict[str, str], tmp_path: Path) -> Path:
    """A copy of the reward model, to be changed."""
    return Path(shutil.copytree(folders["rm"], tmp_path / "hostile"))


def grow(folder: Path) -> None:
    """Make a tokenizer that turns one letter into 512 GiB of text."""
    path = folder / "tokenizer.json"
    normalizer = {"type": "Sequence", "normalizers": [GROWING] * 3}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": normalizer}))


@pytest.mark.parametrize("place", ["template", "tokenizer"])
def test_files_that_take_memory_end_their_request_and_not_the_process(
    services: RaterServices, folders: dict[str, str], hostile: Path, place: str
) -> None:
    if place == "template":
        (hostile / "chat_template.jinja").write_text("{{ 'a' * 80000000 }}")
    else:
        grow(hostile)
    both = replace(services, checkpoints={**folders, "hostile": str(hostile)}, shared_models=services.models)
    before = rated(both, type="reward_model", model="rm")
    pid = services.models.pid
    with pytest.raises(JobFailure) as caught:
        rated(both, ["aa"], type="reward_model", model="hostile")
    assert caught.value.code == "model_too_demanding"
    assert services.models.pid == pid
    assert [result.value for result in rated(both, type="reward_model", model="rm")] == [
        result.value for result in before
    ]


def test_ids_beyond_the_vocabulary_end_their_request_and_not_the_process(
    services: RaterServices, folders: dict[str, str], hostile: Path
) -> None:
    path = hostile / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"]["b"] = 99_999
    path.write_text(json.dumps(content))
    both = replace(services, checkpoints={**folders, "hostile": str(hostile)}, shared_models=services.models)
    rated(both, type="reward_model", model="rm")
    pid = services.models.pid
    with pytest.raises(JobFailure, match=r"token 99999, but its weights have 260 tokens") as caught:
        rated(both, ["abc"], type="reward_model", model="hostile")
    assert caught.value.code == "reward_model_unusable"
    assert services.models.pid == pid


def test_a_template_that_never_ends_is_stopped_and_the_next_request_is_answered(hostile: Path) -> None:
    original = (hostile / "chat_template.jinja").read_text()
    texts = CheckpointTexts(hostile)
    try:
        (hostile / "chat_template.jinja").write_text(LOOP)
        texts.load()
        seconds, texts._apart._seconds = texts._apart._seconds, 0.5
        with pytest.raises(TextFailed, match="took too long") as caught:
            texts.render(MESSAGES, generation_prompt=True)
        assert caught.value.code == "model_too_demanding"
        (hostile / "chat_template.jinja").write_text(original)
        texts._apart._seconds = seconds
        assert texts.render(MESSAGES, generation_prompt=True) == ["<user>?<assistant>"]
    finally:
        texts.close()


def test_token_types_and_pairs_are_those_of_the_library(hostile: Path) -> None:
    path = hostile / "tokenizer_config.json"
    names = ["input_ids", "token_type_ids", "attention_mask"]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_input_names": names}))
    here = tokenizer(str(hostile))
    here.truncation_side = "left"
    there = CheckpointTexts(hostile)
    try:
        assert there.load() == (here.pad_token_id, here.pad_token_type_id)
        for pairs in (None, ["b", "cc" * 20, "d"]):
            made = here(["a", "abc" * 9, "x"], pairs, truncation=True, max_length=16)
            rows = there.encode(["a", "abc" * 9, "x"], pairs, 16)
            assert rows == list(zip(made["input_ids"], made["token_type_ids"], strict=True))
    finally:
        there.close()
