"""What a ready reward is held to.

`golden.yaml`: a list of `{item, cases}`; a case is a `completion` with one expectation: `value`; `least` and/or
`most`; or `above`, another completion that has to get less. `adversarial.yaml`: a list of `{item, control, most, cases}`;
a case is a `text` with the reason `why` it must not get more than `most`; the honest `control` gets more than all.

A completion is text, or a list of texts and `{repeat: text, times: n}`: floods without a flooded file. Both kinds may
have `prompt`, `judges`, `sample` beside `item`, and `beside`: other completions of the same group.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reinforge.reward_library.cards import read_yaml


class Row(BaseModel):
    """Where a completion stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item: dict[str, Any]
    prompt: str = ""
    sample: dict[str, Any] = {}
    judges: dict[str, Any] | None = None
    beside: list[str] = []
    """Other completions of its group."""


class GoldenCase(BaseModel):
    """`value`, a range from `least` to `most`, or an ordering: the completion gets more than `above`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    row: Row
    completion: str
    value: float | None = None
    least: float | None = None
    most: float | None = None
    above: str | None = None
    not_applicable: bool = False

    @model_validator(mode="after")
    def _expects_something(self) -> "GoldenCase":
        given = (self.value, self.least, self.most, self.above)
        if all(each is None for each in given) and not self.not_applicable:
            raise ValueError("a golden case needs value, least, most, above or not_applicable")
        return self


class AdversarialCase(BaseModel):
    """A completion that must not get more than `most`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    row: Row
    control: str
    """An honest completion of the same row, which gets more."""
    completion: str
    most: float = 0.0
    why: str = Field(min_length=1)


def golden_cases(id: str) -> list[GoldenCase]:
    """Raises pydantic's ValidationError for a file that is written wrongly."""
    found = []
    for block in read_yaml(id, "golden.yaml"):
        cases = block.pop("cases")
        for case in cases:
            if "above" in case:
                case["above"] = text_of(case["above"])
            found.append(GoldenCase(row=Row(**block), completion=text_of(case.pop("completion")), **case))
    return found


def adversarial_cases(id: str) -> list[AdversarialCase]:
    """Raises pydantic's ValidationError for a file that is written wrongly."""
    found = []
    for block in read_yaml(id, "adversarial.yaml"):
        cases, control = block.pop("cases"), text_of(block.pop("control"))
        usual = {"most": block.pop("most", 0.0)}
        for case in cases:
            text = text_of(case.pop("text"))
            found.append(
                AdversarialCase(row=Row(**block), control=control, completion=text, **{**usual, **case})
            )
    return found


def text_of(written: str | list[str | dict[str, Any]]) -> str:
    """A completion as it is written in a file of cases."""
    if isinstance(written, str):
        return written
    return "".join(each if isinstance(each, str) else each["repeat"] * each["times"] for each in written)
