"""Scores of the graders `string_check` and `text_similarity`, which only compare texts."""

from collections.abc import Mapping
from typing import Any

from reinforge.grading import similarity, templates
from reinforge.grading.types import StringCheck, TextSimilarity


def score(grader: StringCheck | TextSimilarity, item: Mapping[str, Any], sample: Mapping[str, Any]) -> float:
    text = templates.parse(grader.input).render(item, sample)
    reference = templates.parse(grader.reference).render(item, sample)
    if isinstance(grader, TextSimilarity):
        return similarity.similarity(grader.evaluation_metric, text, reference)
    return float(_compares(grader.operation, text, reference))


def _compares(operation: str, text: str, reference: str) -> bool:
    if operation == "eq":
        return text == reference
    if operation == "ne":
        return text != reference
    if operation == "like":
        return reference in text
    return reference.casefold() in text.casefold()
