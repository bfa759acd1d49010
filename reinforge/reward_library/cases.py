"""Test cases of a ready-made reward.

`golden.yaml`: a list of `{item, cases}`; a case is a `completion` and an expectation as in
golden cases: `value`; `least` and/or `most`; `above`, a completion that must get less; or
`not_applicable`. `adversarial.yaml`: a list of `{item, control, most, cases}`; a case is a
`text` and the reason `why` it must get at most `most`; the honest `control` must get more.

A completion is text, or a list of texts and `{repeat: text, times: n}`. Entries of both files
may also have `prompt`, `judges`, `sample` and `beside` (other completions of the group).
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from reinforge.evaluation.golden import Expectation, GoldenCase
from reinforge.reward_library.cards import read_yaml


class CaseRow(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    item: dict[str, Any]
    prompt: str = ""
    sample: dict[str, Any] = {}
    judges: dict[str, Any] | None = None
    beside: list[str] = []
    """Other completions of the same group."""


class LibraryCase(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    row: CaseRow
    completion: str
    expect: Expectation


class AdversarialCase(BaseModel):
    """A completion that must get at most `most`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    row: CaseRow
    control: str
    """An honest completion of the row, which must get more."""
    completion: str
    most: float = 0.0
    why: str = Field(min_length=1)


def golden_cases(id: str) -> list[LibraryCase]:
    """Cases of `golden.yaml`. Raises pydantic's ValidationError for a malformed file."""
    library_cases = []
    for block in read_yaml(id, "golden.yaml"):
        cases = block.pop("cases")
        for expect in cases:
            completion = text_of(expect.pop("completion"))
            if "above" in expect:
                expect["above"] = text_of(expect["above"])
            library_cases.append(
                LibraryCase(row=CaseRow(**block), completion=completion, expect=Expectation(**expect))
            )
    return library_cases


def adversarial_cases(id: str) -> list[AdversarialCase]:
    """Cases of `adversarial.yaml`. Raises ValidationError for a malformed file."""
    adversarial = []
    for block in read_yaml(id, "adversarial.yaml"):
        cases, control = block.pop("cases"), text_of(block.pop("control"))
        usual = {"most": block.pop("most", 0.0)}
        for case in cases:
            text = text_of(case.pop("text"))
            adversarial.append(
                AdversarialCase(row=CaseRow(**block), control=control, completion=text, **{**usual, **case})
            )
    return adversarial


def portable(id: str) -> list[GoldenCase]:
    """Cases with none of `judges`, `sample` and `beside`, in the format of `reinforge reward golden`."""
    golden = [(case.row, case.completion, case.expect, None) for case in golden_cases(id)]
    hostile = [
        (case.row, case.completion, Expectation(most=case.most), case.why) for case in adversarial_cases(id)
    ]
    return [
        GoldenCase(item=row.item, prompt=row.prompt, completion=completion, expect=expect, note=why)
        for row, completion, expect, why in golden + hostile
        if not row.sample and row.judges is None and not row.beside
    ]


def text_of(written: str | list[str | dict[str, Any]]) -> str:
    if isinstance(written, str):
        return written
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in written)
