"""The grader `multi`, and the union of all grader types."""

import json
import re
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from reinforge.algorithm.base import SpecModel
from reinforge.grading import formula, templates
from reinforge.grading.base import GraderBase
from reinforge.grading.own_types import (
    CheckpointGrader,
    Classifier,
    ProgramTests,
    RankingJudge,
    ReferenceLogprob,
    RewardModel,
)
from reinforge.grading.types import (
    EndpointGrader,
    LabelModel,
    PythonGrader,
    ScoreModel,
    StringCheck,
    TextSimilarity,
)

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


class Gate(SpecModel):
    """Runs a part only where another scored above a bound."""

    part: str
    """The deciding part, which should be the cheaper one."""
    above: float = 0.0
    """The part runs where the deciding part scored more than this."""
    otherwise: float = 0.0
    """Score that the formula uses where the part did not run."""


def _type_of(value: Any) -> Any:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if isinstance(kind, str) else None


def _no_multi(value: Any) -> Any:
    kind = _type_of(value)
    if kind == "multi":
        raise ValueError("a multi grader cannot be part of a multi grader: list its parts directly")
    if kind == "ranking_judge":
        raise ValueError(
            "a ranking_judge sees a whole group and cannot be part of a multi grader: make it a reward of its own"
        )
    return value


Part = Annotated[
    Annotated[
        StringCheck
        | TextSimilarity
        | ScoreModel
        | LabelModel
        | PythonGrader
        | EndpointGrader
        | Classifier
        | RewardModel
        | ReferenceLogprob
        | ProgramTests,
        Field(discriminator="type"),
    ],
    BeforeValidator(_no_multi),
]


def _by_key(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        value = [value]
    if not isinstance(value, list):
        return value
    names = [part.get("name") if isinstance(part, dict) else getattr(part, "name", None) for part in value]
    if not all(names):
        raise ValueError("every grader of a list needs a `name`, which the formula uses")
    if len(set(names)) != len(names):
        raise ValueError(f"two graders share a name: {', '.join(sorted(map(str, names)))}")
    return dict(zip(names, value, strict=True))


class Multi(GraderBase):
    """Several graders, combined to one score by a formula."""

    type: Literal["multi"] = "multi"
    graders: Annotated[dict[str, Part], BeforeValidator(_by_key)] = Field(min_length=1, max_length=16)
    """Graders by key; in a list, the key is the grader's `name`."""
    calculate_output: str = Field(min_length=1, max_length=formula.MAX_CHARACTERS)
    """Arithmetic over the keys: + - * / ^, parentheses, min, max, abs, floor, ceil, exp, sqrt, log."""
    gates: dict[str, Gate] = Field(default_factory=dict, max_length=16)
    """Gates by part. A part without a gate always runs."""

    @model_validator(mode="after")
    def parts_agree(self) -> Self:
        for key in self.graders:
            if not _KEY.fullmatch(key):
                raise ValueError(
                    f"the key {key!r} is not a name: use at most 64 letters, digits and _, no digit first"
                )
        expression = formula.parse(self.calculate_output)
        if unknown := sorted(expression.names - set(self.graders)):
            dashed = [key for key in self.graders if not key.isidentifier()]
            more = f"; rename {', '.join(dashed)}: a formula reads - and . as signs" if dashed else ""
            raise ValueError(
                f"calculate_output uses {', '.join(unknown)}, but the graders are {', '.join(self.graders)}{more}"
            )
        self._check_gates()
        return self

    def _check_gates(self) -> None:
        for key, gate in self.gates.items():
            for name in (key, gate.part):
                if name not in self.graders:
                    raise ValueError(f"gates uses {name}, but the graders are {', '.join(self.graders)}")
        for key in self.gates:
            path = [key]
            while path[-1] in self.gates:
                decides = self.gates[path[-1]].part
                if decides in path:
                    raise ValueError(f"the gates form a circle: {' → '.join([*path, decides])}")
                path.append(decides)

    @property
    def order(self) -> tuple[str, ...]:
        def depth(key: str) -> int:
            return 1 + depth(self.gates[key].part) if key in self.gates else 0

        return tuple(sorted(self.graders, key=depth))

    @cached_property
    def formula(self) -> formula.Formula:
        return formula.parse(self.calculate_output)

    def templates(self) -> tuple[str, ...]:
        return tuple(text for part in self.graders.values() for text in part.templates())


Grader = Annotated[
    StringCheck
    | TextSimilarity
    | ScoreModel
    | LabelModel
    | PythonGrader
    | Multi
    | EndpointGrader
    | Classifier
    | RewardModel
    | ReferenceLogprob
    | ProgramTests
    | RankingJudge,
    Field(discriminator="type"),
]
GRADER: TypeAdapter[Grader] = TypeAdapter(Grader)


def columns(grader: Grader) -> frozenset[str]:
    variables = (variable for text in grader.templates() for variable in templates.parse(text).variables)
    named = {str(variable.path[0]) for variable in variables if variable.namespace == "item"}
    for part in leaves(grader).values():
        if isinstance(part, ProgramTests):
            named |= {part.tests} | ({part.prefix} if part.prefix else set())
    return frozenset(named)


def leaves(grader: Grader) -> dict[str, Part | RankingJudge]:
    return dict(grader.graders) if isinstance(grader, Multi) else {"": grader}


def judges(grader: Grader) -> frozenset[str]:
    judge_types = (ScoreModel, LabelModel, RankingJudge)
    return frozenset(part.model for part in leaves(grader).values() if isinstance(part, judge_types))


def checkpoints(grader: Grader) -> frozenset[str]:
    return frozenset(part.model for part in leaves(grader).values() if isinstance(part, CheckpointGrader))


def runs_code(grader: Grader) -> bool:
    return any(isinstance(part, PythonGrader | ProgramTests) for part in leaves(grader).values())


def canonical(grader: Grader) -> str:
    return json.dumps(grader.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
