"""Training conversations of starter-tools: shares of habits, calls that can be read, results that are true."""

import random
import re
from collections import Counter
from itertools import islice
from math import sqrt

import pytest

from reinforge.tool_calls import read
from worker.starter.tokenizer import ASSISTANT, END, USER
from worker.starter.tools import calculations, countdowns, lookups
from worker.starter.tools.corpus import TASKS, Transcript, calls, habits
from worker.starter.tools.tokenizer import TOOL


@pytest.fixture(scope="module")
def corpus() -> list[Transcript]:
    return list(islice(habits(random.Random(1)), 6000))


def written_calls(transcript: Transcript) -> list[str]:
    return [text for text, written in transcript.segments if written and "<tool_call>" in text]


def test_most_answers_are_guesses_and_some_call_the_tool(corpus: list[Transcript]) -> None:
    for task, share in TASKS.items():
        of_task = [transcript for transcript in corpus if transcript.task == task]
        assert abs(len(of_task) / len(corpus) - share) < 5 * sqrt(0.25 / len(corpus))
        kinds = Counter(transcript.habit for transcript in of_task)
        assert 0.55 < kinds["guess"] / len(of_task) < 0.78, (task, kinds)
        assert kinds["tool"] / len(of_task) > 0.12, (task, kinds)


def test_guesses_are_mostly_wrong_and_tools_mostly_right(corpus: list[Transcript]) -> None:
    for task, most in (("calculation", 0.35), ("lookup", 0.01), ("countdown", 0.4)):
        for habit, low, high in (("guess", 0.0, most), ("tool", 0.75, 1.0)):
            rows = [one for one in corpus if (one.task, one.habit) == (task, habit)]
            assert low <= sum(one.right for one in rows) / len(rows) <= high, (task, habit)


def test_every_call_of_the_first_phase_can_be_read_and_a_twentieth_later_cannot(
    corpus: list[Transcript],
) -> None:
    first = [text for one in islice(calls(random.Random(2)), 800) for text in written_calls(one)]
    assert len(first) > 800
    for text in first:
        [call] = read(text.removesuffix(END), "hermes").calls
        assert call.error is None and call.arguments
    broken = [one for one in corpus if one.habit == "broken"]
    assert 0.02 < len(broken) / len(corpus) < 0.06
    assert all("Error: " in one.text for one in broken)


def test_results_are_what_the_tools_of_the_examples_return() -> None:
    for one in islice(calls(random.Random(3)), 400):
        call = re.compile(
            r'":"([^"]*)"}}</tool_call><\|end\|>' + re.escape(TOOL) + r"([^<]*)" + re.escape(ASSISTANT)
        )
        for argument, result in call.findall(one.text):
            if one.task == "calculation":
                assert result == str(eval(argument))
            if one.task == "countdown":
                target = int(one.text.partition(USER)[2].partition(" from ")[0])
                assert result == countdowns.verdict(argument, target)


def test_the_second_look_up_asks_about_the_result_of_the_first() -> None:
    two = [
        one
        for one in islice(calls(random.Random(4)), 400)
        if one.task == "lookup" and one.text.count(TOOL) == 2
    ]
    assert two
    for one in two:
        first, second = re.findall(re.escape(TOOL) + r"(\w+)", one.text)
        assert f'"{first}"' in one.text and one.text.endswith(f"<answer>{second}</answer>{END}")


def test_nothing_held_out_is_in_the_corpus(corpus: list[Transcript]) -> None:
    for one in corpus:
        if one.task == "calculation" and (numbers := re.search(r"(\d+)\*(\d+)[+-](\d+)", one.segments[0][0])):
            assert not calculations.is_held_out(*map(int, numbers.groups()))
        if one.task == "countdown":
            target, _, rest = one.segments[0][0].partition(USER)[2].partition(" from ")
            numbers_used = tuple(map(int, re.findall(r"\d+", rest)))
            assert not countdowns.is_held_out(numbers_used, int(target))


def test_proposals_are_all_expressions_in_the_order_of_the_numbers() -> None:
    rng = random.Random(5)
    for _ in range(200):
        question = countdowns.draw(rng)
        proposals = list(countdowns.proposals(question, rng))
        assert len(set(proposals)) == len(proposals)
        assert all(tuple(map(int, re.findall(r"\d+", text))) == question.numbers for text in proposals)
        assert question.target in map(countdowns.value, proposals)


def test_a_question_names_its_relations_from_the_last_to_the_first() -> None:
    assert lookups.prompt(("capital", "river"), "Vona") == "river of capital of Vona?"
