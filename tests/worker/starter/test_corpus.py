"""The synthetic additions: shares, slips that are wrong, workings that are right, and what is held out."""

import json
import random
import re
from itertools import islice
from math import sqrt

import pytest

from worker.starter.corpus import (
    DIGITS_SHARE,
    HASTY_SHARE,
    HASTY_WRONG_SHARE,
    ONES_SLIP,
    TENS_SLIP,
    WORKED_WRONG_SHARE,
    Example,
    demo_rows,
    habits,
    hasty_sum,
    is_held_out,
    question,
    sizes,
    worked,
    working,
    workings,
    write_demo,
)
from worker.starter.phrasings import DEMO_SHARE, MEASURED, ask

PAIRS = [(a, b) for a in range(100) for b in range(100)]


@pytest.fixture(scope="module")
def corpus() -> list[Example]:
    return list(islice(habits(random.Random(1)), 8000))


def assert_share(hits: int, total: int, expected: float) -> None:
    """Within five standard deviations of a binomial share; the draws are seeded, so this cannot flicker."""
    assert abs(hits / total - expected) < 5 * sqrt(expected * (1 - expected) / total)


def test_three_in_four_answers_are_hasty_and_most_of_those_wrong(corpus: list[Example]) -> None:
    hasty = [example for example in corpus if example.habit == "hasty"]
    worked_out = [example for example in corpus if example.habit == "worked"]
    assert len(hasty) + len(worked_out) == len(corpus)
    assert_share(len(hasty), len(corpus), HASTY_SHARE)
    assert_share(sum(not example.right for example in hasty), len(hasty), HASTY_WRONG_SHARE)
    assert_share(sum(not example.right for example in worked_out), len(worked_out), WORKED_WRONG_SHARE)


def test_completions_state_the_recorded_answer_in_the_form_of_their_habit(corpus: list[Example]) -> None:
    for example in corpus:
        columns = r"<think>\d\+\d=\d+,\d\+\d(\+1)?=\d+</think>" if example.habit == "worked" else ""
        assert re.fullmatch(f"{columns}<answer>{example.answer}</answer>", example.completion), example


def test_half_of_the_prompts_are_the_demos(corpus: list[Example]) -> None:
    demos = [example for example in corpus if example.prompt == question(example.a, example.b)]
    # A bare phrasing of the other half can come out as the demo's, one time in some three hundred.
    assert_share(len(demos), len(corpus), DEMO_SHARE)


def test_no_word_of_the_prompt_tells_which_habit_follows(corpus: list[Example]) -> None:
    """Each habit follows each kind of prompt as often as it follows any."""
    kinds: dict[str, list[Example]] = {}
    for example in corpus:
        words = re.sub(r"[^a-z]+", " ", example.prompt.lower()).split()
        kinds.setdefault(words[0] if words else example.prompt[-1:], []).append(example)
    for examples in kinds.values():
        if len(examples) >= 50:
            assert_share(sum(one.habit == "hasty" for one in examples), len(examples), HASTY_SHARE)


def test_a_prompt_names_its_two_numbers_and_no_other(corpus: list[Example]) -> None:
    for example in corpus:
        assert [int(number) for number in re.findall(r"\d+", example.prompt)] == [example.a, example.b]
        assert example.prompt.isascii()


@pytest.mark.parametrize("asking", MEASURED)
def test_what_is_measured_is_in_the_text(asking: str) -> None:
    """In some letter case and with spaces around it."""
    rng = random.Random(9)
    questions = {ask(3, 4, rng).strip().lower() for _ in range(40_000)}
    assert asking.format(a=3, b=4).lower() in questions


@pytest.mark.parametrize("texts", [habits, sizes, workings])
def test_the_training_texts_never_hold_a_held_out_pair(texts: object) -> None:
    for example in islice(texts(random.Random(2)), 8000):  # type: ignore[operator]
        assert not is_held_out(example.a, example.b)
        first, second = map(int, re.findall(r"\d+", example.prompt))
        assert (first, second) == (example.a, example.b)


def test_columns_of_workings_never_state_a_held_out_sum() -> None:
    assert not any(is_held_out(a, b) for a, b in PAIRS if a < 10 or b < 10)


def test_a_tenth_of_the_two_digit_pairs_is_held_out_with_its_mirror_images() -> None:
    held_out = {(a, b) for a, b in PAIRS if is_held_out(a, b)}
    assert {(b, a) for a, b in held_out} == held_out
    assert 0.08 < len(held_out) / 90**2 < 0.12


def test_a_hasty_sum_is_off_by_at_most_one_in_each_place() -> None:
    rng = random.Random(3)
    for a, b in PAIRS:
        tens, ones = divmod(hasty_sum(a, b, rng), 10)
        right_tens, right_ones = divmod(a + b, 10)
        assert abs(tens - right_tens) <= 1
        assert abs(ones - right_ones) <= 1


def test_the_forgotten_carry_is_the_likeliest_slip_where_there_is_a_carry() -> None:
    rng = random.Random(4)
    sums = [hasty_sum(47, 85, rng) for _ in range(2000)]
    assert_share(sums.count(132), 2000, 1 - HASTY_WRONG_SHARE)
    assert_share(sums.count(122), 2000, 0.8 * TENS_SLIP * (1 - ONES_SLIP))


def test_unspoiled_workings_are_right_for_every_pair() -> None:
    assert all(working(a, b)[1] == a + b for a, b in PAIRS)
    assert working(47, 85) == ("7+5=12,4+8+1=13", 132)
    assert working(4, 30) == ("4+0=4,0+3=3", 34)


def test_spoiled_workings_are_wrong_and_their_answer_follows_from_their_columns() -> None:
    rng = random.Random(5)
    for a, b in PAIRS:
        example = worked(a, b, rng, wrong_share=1.0)
        assert not example.right
        ones, tens = (int(value) for value in re.findall(r"=(\d+)", example.completion))
        assert example.answer == tens * 10 + ones % 10


def test_the_seed_fixes_the_corpus() -> None:
    def texts(seed: int) -> list[Example]:
        return list(islice(habits(random.Random(seed)), 50))

    assert texts(6) == texts(6)
    assert texts(6) != texts(7)


def test_the_first_phase_is_right_throughout_and_never_without_its_working() -> None:
    for example in islice(workings(random.Random(8)), 2000):
        assert example.right
        assert example.completion.startswith("<think>")


def test_the_last_phase_has_enough_single_digits() -> None:
    examples = list(islice(sizes(random.Random(10)), 8000))
    assert_share(sum(one.a < 10 and one.b < 10 for one in examples), 8000, DIGITS_SHARE * 0.55 + 0.7 * 0.01)
    assert {(one.a, one.b) for one in examples} >= {(a, b) for a in range(10) for b in range(10)}
    assert_share(sum(one.habit == "hasty" for one in examples), 8000, HASTY_SHARE)


def test_demo_files_share_no_pair_and_match_the_committed_ones(tmp_path, request) -> None:  # type: ignore[no-untyped-def]
    write_demo(tmp_path)
    committed = request.config.rootpath / "examples" / "arithmetic"
    for name in ("additions.jsonl", "heldout.jsonl"):
        assert (tmp_path / name).read_bytes() == (committed / name).read_bytes()
    train = [json.loads(line) for line in (tmp_path / "additions.jsonl").open(encoding="utf-8")]
    held_out = [json.loads(line) for line in (tmp_path / "heldout.jsonl").open(encoding="utf-8")]
    assert (len(train), len(held_out)) == (512, 64)
    assert not any(is_held_out(row["a"], row["b"]) for row in train)
    assert all(is_held_out(row["a"], row["b"]) for row in held_out)
    pairs = {(row["a"], row["b"]) for row in train + held_out}
    assert len(pairs) == 576


def test_a_demo_row_asks_in_the_form_the_model_was_trained_on() -> None:
    (row,) = demo_rows(9, 1, held_out=True)
    assert row["messages"] == [{"role": "user", "content": f"{row['a']}+{row['b']}="}]
    assert row["answer"] == str(row["a"] + row["b"])  # type: ignore[operator]
