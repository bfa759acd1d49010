"""Figures, witnesses, conditions and documents of report cards, from completions made by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from statistics import fmean
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from reinforge.errors import InvalidInput
from reinforge.report_card import conditions
from reinforge.report_card.build import AbilitySamples, CardInputs, CardPolicySamples, build
from reinforge.report_card.manifest import manifest_of, verify
from reinforge.report_card.markdown import markdown
from reinforge.report_card.samples import CardSample, best_at, pass_at, repetition
from reinforge.schemas.report_card import CardCost, CardFigure, CardSubject, ReportCard

SUBJECT = CardSubject(
    job="ftjob-1", name="sums | `x` <b>", status="succeeded", step=4, model="starter-arith",
    dataset="file-1", dataset_sha256="d" * 64, spec_sha256="e" * 64, created_at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip


def sample(row: int, number: int, reward: float | None, **fields: Any) -> CardSample:
    values = {"tokens": 10, "finish_reason": "stop", "text": f"answer {number}"} | fields
    return CardSample(row=row, prompt_hash=f"hash {row}", sample=number, reward=reward, **values)


def rows(rewards: Sequence[Sequence[float | None]], **fields: Any) -> list[CardSample]:
    return [
        sample(row, number, reward, **fields)
        for row, of_row in enumerate(rewards)
        for number, reward in enumerate(of_row)
    ]


def card_of(
    base: Sequence[CardSample] | None,
    adapter: Sequence[CardSample],
    *,
    require: str | None = None,
    **inputs: Any,
) -> ReportCard:
    return build(
        CardInputs(
            subject=SUBJECT,
            cost=CardCost(worker_seconds=60, sampled_tokens=1000, trained_tokens=900),
            pass_above=0.5,
            adapter=CardPolicySamples("trained", 4, adapter),
            base=None if base is None else CardPolicySamples("starter-arith", 0, base),
            **inputs,
        ),
        require=require,
    )


def figure(card: ReportCard, key: str) -> CardFigure:
    return next(figure for figure in card.figures if figure.key == key)


BASE = rows([[0.0, 0.0, 1.0, 0.0]] * 12 + [[1.0, 1.0, 0.0, 1.0]] * 12)
ADAPTER = rows([[1.0, 0.0, 1.0, 0.0]] * 12 + [[1.0, 1.0, 1.0, 1.0]] * 12)


def test_the_change_is_paired_by_row() -> None:
    card = card_of(BASE, ADAPTER)
    reward = figure(card, "held_out")
    assert reward.base and reward.adapter and reward.change
    assert (reward.base.value, reward.adapter.value, reward.base.rows) == (0.5, 0.75, 24)
    # Every row gained 0.25: rows differ, gains do not, so the paired interval has no width.
    assert (reward.change.value, reward.change.low, reward.change.high) == (0.25, 0.25, 0.25)
    assert reward.change.paired and reward.base.high - reward.base.low > 0.1


def test_pass_and_best_at_k_are_the_mean_over_all_choices() -> None:
    rewards = [0.1, 0.9, 0.4, 0.9, 0.2]
    one_row = rows([rewards])
    for k in (1, 2, 3, 5):
        choices = list(combinations(rewards, k))
        assert best_at(k)(one_row) == pytest.approx(fmean(max(choice) for choice in choices))
        passed = fmean(any(value > 0.5 for value in choice) for choice in choices)
        assert pass_at(k, 0.5)(one_row) == pytest.approx(passed)
    assert best_at(6)(one_row) is None
    assert {figure.key for figure in card_of(BASE, ADAPTER).figures if figure.group == "pass_at_k"} == {
        "pass@1", "pass@2", "pass@4",
    }  # fmt: skip


def test_failures_parts_slices_and_entropy_have_figures() -> None:
    adapter = rows(
        [[1.0, None]] * 20, parts={"right": 1.0, "right/part/format": 0.5}, slice="easy", surprisal=0.7
    )
    adapter += [sample(30 + row, 0, 0.0, finish_reason="length", text=" ", slice="hard") for row in range(20)]
    card = card_of(BASE, adapter)
    values = {one.key: one.adapter.value for one in card.figures if one.adapter is not None}
    assert values["unscored"] == pytest.approx(0.25)
    assert values["truncated"] == values["empty"] == pytest.approx(0.5)
    assert (values["slice/easy"], values["slice/hard"]) == (1.0, 0.0)
    assert (values["reward/right"], values["reward/right/part/format"], values["entropy"]) == (1.0, 0.5, 0.7)


def test_examples_are_one_of_a_row_and_the_largest_change_comes_first() -> None:
    card = card_of(BASE, ADAPTER)
    assert [len({one.row for one in list_}) for list_ in (card.best, card.worst)] == [10, 10]
    assert (card.best[0].row, card.best[0].reward, card.best[0].base_reward) == (0, 1.0, 0.25)
    assert all(one.reward == 0.0 for one in card.worst)


def test_reward_that_follows_length_is_a_witness_unless_right_answers_rose_too() -> None:
    long = [sample(row, n, n / 4, tokens=10 * n, right=False) for row in range(24) for n in range(1, 5)]
    short = [sample(row, n, 0.0, right=False) for row in range(24) for n in range(1, 5)]
    assert [one.code for one in card_of(short, long).witnesses] == ["reward_follows_length"]
    assert card_of(long, short).witnesses == []
    noisy = [
        sample(row, n, 0.5 + (n > 2) / 2, tokens=10 * n, right=n > 2)
        for row in range(24)
        for n in range(1, 5)
    ]
    assert card_of(short, noisy).witnesses == []


def test_falling_answers_and_a_falling_reward_of_weight_0_are_witnesses() -> None:
    base = rows([[0.0, 1.0]] * 24, right=True, parts={"quality": 0.9})
    adapter = rows([[1.0, 1.0]] * 24, right=False, parts={"quality": 0.2})
    codes = {one.code for one in card_of(base, adapter, weights={"quality": 0.0}).witnesses}
    assert codes == {"answers_disagree", "rewards_disagree"}
    assert {one.code for one in card_of(base, adapter, weights={"quality": 1.0}).witnesses} == {
        "answers_disagree"
    }


def test_an_ability_that_fell_is_worse() -> None:
    def ability(base: float, adapter: float) -> AbilitySamples:
        return AbilitySamples(
            "file-2", "words", "match", "eval_1", "eval_2", rows([[base]] * 30), rows([[adapter]] * 30), 0.5
        )

    card = card_of(BASE, ADAPTER, abilities=[ability(0.9, 0.4), ability(0.5, 0.6)])
    assert [one.worse for one in card.abilities] == [True, False]
    requirement = conditions.check(card, "ability_gain>=-0.1")
    assert (requirement.met, requirement.conditions[0].value) == (False, pytest.approx(-0.5))


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("held_out_gain>0.02", True),
        ("held_out_gain.low > 0.24, held_out>=0.75", True),
        ("held_out_gain>0.25", False),
        ("pass@4<=1, witnesses=0, findings=0", True),
        ("reward/absent>0", False),
        ("held_out_parent_gain>0", False),
    ],
)
def test_conditions(text: str, met: bool) -> None:
    requirement = card_of(BASE, ADAPTER, require=text).requirement
    assert requirement is not None and requirement.met is met


@pytest.mark.parametrize(
    "text", ["", "held_out", "held_out>", "held_out>1,", ">1", "a>1.2.3", "a>1" + ",a>1" * 20]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        conditions.parse(text)
    assert (refused.value.code, refused.value.param) == ("invalid_condition", "require")


def test_without_a_base_or_many_rows_the_card_says_so() -> None:
    card = card_of(None, rows([[1.0]] * 3))
    assert figure(card, "held_out").change is None
    assert any("unknown" in note for note in card.notes) and any("Only 3" in note for note in card.notes)


def test_witnesses_that_nobody_could_look_for_do_not_count_as_0() -> None:
    card = card_of(None, rows([[1.0]]), require="witnesses=0")
    assert card.requirement is not None and not card.requirement.met


def test_a_project_s_and_a_request_s_conditions_may_both_be_long() -> None:
    half = ", ".join(["held_out>0"] * 20)
    assert len(conditions.parse(f"{half}, {half}", texts=2)) == 40
    with pytest.raises(InvalidInput, match="more than 20"):
        conditions.parse(f"{half}, held_out>0")


def test_markdown_holds_hostile_texts_as_text() -> None:
    hostile = "```\n# heading\n<script>alert(1)</script> | cell"
    card = card_of(BASE, rows([[1.0, 0.0]] * 24, text=hostile, prompt=hostile, answer="<b>|`"))
    document = markdown(card)
    assert r"# Report card: sums \| \`x\` &lt;b&gt;" in document
    assert "````text\n```\n# heading" in document
    outside = "\n".join(document.split("````")[::2])
    assert "<script>" not in outside and "# heading" not in outside and "<b>" not in outside


def test_a_manifest_fails_for_a_changed_file_another_subject_and_another_installation() -> None:
    key = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
    public_key = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    files = {"card.json": b"{}", "card.md": b"# card"}
    manifest = manifest_of(SUBJECT, files, public_key, key.sign)
    verify(manifest, files, public_key=manifest.public_key)
    changed = manifest.model_copy(update={"subject": SUBJECT.model_copy(update={"adapter_sha256": "f" * 64})})
    for refused, contents, installation in (
        (manifest, {"card.json": b"{ }"}, None),
        (manifest, {"card.html": b""}, None),
        (changed, files, None),
        (manifest.model_copy(update={"signature": "AAAA"}), files, None),
        (manifest.model_copy(update={"public_key": "no key"}), files, None),
        (manifest, files, "another"),
    ):
        with pytest.raises(InvalidInput):
            verify(refused, contents, public_key=installation)


def test_repetition_counts_runs_of_words() -> None:
    assert repetition("a b c d e") == 0.0 and repetition("") == 0.0
    assert repetition("x " * 100) == pytest.approx(1 - 1 / 98)
