"""Text similarity beside the field's own packages."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.gleu_score import sentence_gleu
from rouge_score.rouge_scorer import RougeScorer

from reinforge.grading import similarity
from reinforge.grading.errors import MetricUnavailable

VOCABULARY = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "far", "away", "12", "x"]
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=14)
HERE = [metric for metric in similarity.METRICS if similarity.unavailable(metric) is None]


@given(WORDS, WORDS)
def test_rouge_is_that_of_rouge_score(one: list[str], other: list[str]) -> None:
    names = [*(f"rouge{n}" for n in range(1, 6)), "rougeL"]
    text, reference = " ".join(one), " ".join(other)
    if not one or not other:
        return
    expected = RougeScorer(names).score(reference, text)
    for name in names:
        ours = similarity.similarity(name.replace("rouge", "rouge_").lower(), text, reference)
        # Texts too short for an n-gram are 0 there even when they are equal.
        if len(one) >= 5 or one != other:
            assert ours == pytest.approx(expected[name].fmeasure), name


@given(WORDS, WORDS)
def test_bleu_and_gleu_are_those_of_nltk(one: list[str], other: list[str]) -> None:
    if len(one) < 4 or not other:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bleu = sentence_bleu([other], one, smoothing_function=SmoothingFunction().method2)
    assert similarity.similarity("bleu", " ".join(one), " ".join(other)) == pytest.approx(bleu)
    gleu = sentence_gleu([other], one)
    assert similarity.similarity("gleu", " ".join(one), " ".join(other)) == pytest.approx(gleu)


@pytest.mark.parametrize("metric", HERE)
@settings(max_examples=30)
@given(st.text(max_size=40), st.text(max_size=40))
def test_scores_lie_between_0_and_1_and_equal_texts_are_alike(metric: str, one: str, other: str) -> None:
    assert 0 <= similarity.similarity(metric, one, other) <= 1 + 1e-12
    if metric in ("fuzzy_match", "gleu") or metric.startswith("rouge"):
        assert similarity.similarity(metric, one, one) == 1


@pytest.mark.parametrize("metric", HERE)
def test_nothing_in_common_is_0(metric: str) -> None:
    assert similarity.similarity(metric, "aaa bbb", "ccc ddd") == pytest.approx(0, abs=0.2)
    assert similarity.similarity(metric, "", "ccc ddd") == 0


def test_words_of_any_script_count() -> None:
    assert similarity.similarity("rouge_1", "größe 東京", "GRÖSSE 東京") == pytest.approx(0.5)


def test_repeating_the_reference_does_not_help() -> None:
    once = similarity.similarity("fuzzy_match", "Paris", "Paris")
    assert once == 1
    for metric in HERE:
        assert similarity.similarity(metric, "Paris " * 30, "Paris") < 0.5, metric


def test_meteor_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_has_wordnet", lambda: False)
    assert "WordNet" in (similarity.unavailable("meteor") or "")
    with pytest.raises(MetricUnavailable, match="rouge_l"):
        similarity.similarity("meteor", "a", "b")


def test_meteor_matches_synonyms_where_wordnet_exists(tmp_path: Path) -> None:
    wordnet(tmp_path / "corpora" / "wordnet")
    script = (
        "from reinforge.grading import similarity; assert similarity.unavailable('meteor') is None; "
        "print(similarity.similarity('meteor', 'the auto stops', 'the car stops'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | {"NLTK_DATA": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    # All three words match in one chunk: F = 1, less the penalty 0.5 × (1 chunk / 3 matches)³.
    assert float(done.stdout) == pytest.approx(1 - 0.5 * (1 / 3) ** 3)


def wordnet(folder: Path) -> None:
    """A dictionary of two words with one meaning, in WordNet's file format (wndb(5WN))."""
    folder.mkdir(parents=True)
    for part in ("adj", "adv", "noun", "verb"):
        for name in (f"index.{part}", f"data.{part}", f"{part}.exc"):
            (folder / name).write_text("")
    for name in ("cntlist.rev", "index.sense"):
        (folder / name).write_text("")
    (folder / "lexnames").write_text("00\tnoun.artifact\t1\n")
    (folder / "data.noun").write_text("00000000 00 n 02 car 0 auto 0 000 | a vehicle with an engine  \n")
    (folder / "index.noun").write_text("auto n 1 0 1 0 00000000  \ncar n 1 0 1 0 00000000  \n")
