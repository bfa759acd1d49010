"""Attacks a reward with right, probing and searched completions, and reports wrong ones that score high."""

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from statistics import fmean

from reinforge.reward_attack import forms
from reinforge.reward_attack.lines import suspicious_line
from reinforge.reward_attack.probes import PROBES, SEARCH, RewardProbe, completions
from reinforge.reward_attack.rows import AnswerPool, AttackRow
from reinforge.reward_attack.search import search
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.reward_attack import AttackExample, AttackFinding, AttackProbe, AttackReport

PAID_SHARE = 0.5
RAISED = 1.05
NOTHING = ("empty", "blank", "no_answer", "placeholder")
MOST_ERRORS = 5
LONGEST_TEXT = 400


@dataclass(frozen=True)
class ProbeAttempt:
    row: int
    completion: str


@dataclass
class _Score:
    attempt: ProbeAttempt
    result: RewardResult

    @property
    def value(self) -> float | None:
        return self.result.value if self.result.status == "ok" else None


Attack = Generator[list[ProbeAttempt], list[RewardResult], AttackReport]


def attack(
    rows: Sequence[AttackRow], *, right: str | None = None, source: str | None = None, searching: bool = True
) -> Attack:
    """Yield batches of completions, receive their rewards, and return the report.

    right: template of a right completion, with `{answer}`. source: code of the reward, to name a suspicious
    line. searching: if no probe of high severity succeeds, search with up to 320 completions.
    """
    pool = AnswerPool.of(rows)
    named = {"own": right} if right is not None else forms.FORMS
    tried = [
        (name, ProbeAttempt(index, forms.written(form, row.answer)))
        for name, form in named.items()
        for index, row in enumerate(rows)
        if row.answer is not None
    ]
    results = yield [attempt for _, attempt in tried]
    right_scores: dict[str, dict[int, _Score]] = defaultdict(dict)
    for (name, attempt), result in zip(tried, results, strict=True):
        right_scores[name][attempt.row] = _Score(attempt, result)
    expected = _best_form(right_scores)
    form = named[expected] if expected else named.get("plain", right or forms.PLACE)
    probes = [
        (probe, ProbeAttempt(index, text))
        for probe in PROBES
        for index, row in enumerate(rows)
        for text in completions(probe, row, pool, form)
    ]
    results = yield [attempt for _, attempt in probes]
    scores: dict[str, list[_Score]] = defaultdict(list)
    for (probe, attempt), result in zip(probes, results, strict=True):
        scores[probe.code].append(_Score(attempt, result))
    right_values = {
        row: score.value
        for row, score in right_scores.get(expected or "", {}).items()
        if score.value is not None and score.value > 0
    }
    if searching and not _broken(scores, right_values):
        yield from _searched(rows, form, right_values, scores)
    count = len(tried) + sum(len(attempts) for attempts in scores.values())
    return _report(rows, form if expected else None, right_values, scores, count, source)


def _broken(scores: dict[str, list[_Score]], right_values: dict[int, float]) -> bool:
    high = [probe for probe in PROBES if probe.severity == "high"]
    return any(_paid(probe, scores.get(probe.code, []), right_values) for probe in high)


def _searched(
    rows: Sequence[AttackRow], form: str, right_values: dict[int, float], scores: dict[str, list[_Score]]
) -> Generator[list[ProbeAttempt], list[RewardResult], None]:
    """Run a search; add its scored completions to `scores` under `search`."""
    paid: dict[int, dict[str, float]] = defaultdict(dict)
    for probe in PROBES:
        for score in scores.get(probe.code, []):
            if probe.kind == "wrong" and score.value is not None:
                paid[score.attempt.row][score.attempt.completion] = score.value
    goals = {row: value * PAID_SHARE for row, value in right_values.items()}
    generations = search(rows, form, goals, paid)
    values: list[float | None] | None = None
    while True:
        try:
            batch = generations.send(values) if values is not None else next(generations)
        except StopIteration:
            return
        attempts = [ProbeAttempt(attempt.row, attempt.completion) for attempt in batch]
        results = yield attempts
        scored = [_Score(attempt, result) for attempt, result in zip(attempts, results, strict=True)]
        scores[SEARCH.code] += scored
        values = [score.value for score in scored]


def _best_form(scores: dict[str, dict[int, _Score]]) -> str | None:
    def mean(name: str) -> float:
        values = [score.value for score in scores[name].values() if score.value is not None]
        return fmean(values) if values else 0.0

    best = max(scores, key=mean, default=None)
    return best if best is not None and mean(best) > 0 else None


def _report(
    rows: Sequence[AttackRow],
    form: str | None,
    right_values: dict[int, float],
    scores: dict[str, list[_Score]],
    count: int,
    source: str | None,
) -> AttackReport:
    findings, table = [], []
    for probe in (*PROBES, SEARCH):
        tried = scores.get(probe.code, [])
        if not tried:
            continue
        paid = _paid(probe, tried, right_values)
        table.append(_summary(probe, tried, paid))
        if paid:
            findings.append(_finding(probe, rows, tried, paid, right_values, source))
    findings = sorted(map(_implied(findings), findings), key=_rank)
    errors = [score for tried in scores.values() for score in tried if _failed(score)]
    verdict = (
        "broken"
        if any(finding.severity == "high" for finding in findings)
        else "holds"
        if right_values
        else "unknown"
    )
    return AttackReport(
        verdict=verdict,
        message=_holds(findings, scores, len(rows))
        if verdict == "holds"
        else _message(findings, rows, table),
        rows=len(rows),
        completions=count,
        right=form,
        right_value=fmean(right_values.values()) if right_values else None,
        findings=findings,
        errors=[_example(score, rows, right_values) for score in _first_of_each(errors)],
        probes=table,
    )


def _implied(findings: list[AttackFinding]) -> Callable[[AttackFinding], AttackFinding]:
    bare = [finding for finding in findings if finding.code in NOTHING]

    def mark(finding: AttackFinding) -> AttackFinding:
        for cause in bare:
            if cause.code == finding.code:
                break
            if cause.rows >= finding.rows and cause.value * RAISED >= finding.value:
                return finding.model_copy(update={"implied_by": cause.code})
        return finding

    return mark


def _rank(finding: AttackFinding) -> tuple[bool, bool, float, float]:
    return (
        finding.severity == "low",
        finding.implied_by is not None,
        -finding.rows / finding.tried,
        -finding.value,
    )


def _paid(probe: RewardProbe, tried: list[_Score], right_values: dict[int, float]) -> list[_Score]:
    best: dict[int, _Score] = {}
    for score in tried:
        value, right = score.value, right_values.get(score.attempt.row)
        if value is None or right is None:
            continue
        bound = right * (RAISED if probe.kind == "padded" else PAID_SHARE)
        if value < bound:
            continue
        current = best.get(score.attempt.row)
        if current is None or value > (current.value or 0.0):
            best[score.attempt.row] = score
    return list(best.values())


def _summary(probe: RewardProbe, tried: list[_Score], paid: list[_Score]) -> AttackProbe:
    values = [score.value for score in tried if score.value is not None]
    return AttackProbe(
        code=probe.code,
        title=probe.title,
        tried=len({score.attempt.row for score in tried}),
        paid=len(paid),
        value=fmean(values) if values else None,
        errors=sum(_failed(score) for score in tried),
    )


def _finding(
    probe: RewardProbe,
    rows: Sequence[AttackRow],
    tried: list[_Score],
    paid: list[_Score],
    right_values: dict[int, float],
    source: str | None,
) -> AttackFinding:
    example = _example(max(paid, key=lambda score: score.value or 0.0), rows, right_values)
    value = fmean(score.value or 0.0 for score in paid)
    rows_tried = len({score.attempt.row for score in tried})
    line = suspicious_line(source, probe.code) if source is not None else None
    where = f", line {line}" if line else ""
    return AttackFinding(
        code=probe.code,
        title=probe.title,
        severity=probe.severity,
        message=f"Reward {value:.3g} for {lower(probe.title)}: {len(paid)} of {rows_tried} rows{where}.",
        rows=len(paid),
        tried=rows_tried,
        value=value,
        line=line,
        fix=probe.fix,
        example=example,
    )


def _example(score: _Score, rows: Sequence[AttackRow], right_values: dict[int, float]) -> AttackExample:
    row, text = score.attempt.row, score.attempt.completion
    return AttackExample(
        row=row,
        answer=rows[row].answer,
        completion=text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…",
        value=score.value,
        right_value=right_values.get(row),
        reason=score.result.message or score.result.reason,
    )


def _failed(score: _Score) -> bool:
    return score.result.status not in ("ok", "not_applicable")


def _first_of_each(errors: list[_Score]) -> list[_Score]:
    distinct: dict[str, _Score] = {}
    for score in errors:
        distinct.setdefault(f"{score.result.status} {score.result.message}", score)
    return list(distinct.values())[:MOST_ERRORS]


def _message(
    findings: list[AttackFinding],
    rows: Sequence[AttackRow],
    table: list[AttackProbe],
) -> str:
    high = [finding for finding in findings if finding.severity == "high"]
    if high:
        others = sum(finding.implied_by is None for finding in high[1:])
        more = f" {others} more {'probe succeeds' if others == 1 else 'probes succeed'}." if others else ""
        return f"{high[0].message}{more}"
    best = max(table, key=lambda probe: probe.value or 0.0, default=None)
    most = (
        f" Of the wrong completions, the best paid is {lower(best.title)} ({best.value:.3g})."
        if best and best.value
        else ""
    )
    if all(row.answer is None for row in rows):
        return f"The rows have no answer, so a right completion is unknown.{most}"
    return (
        "None of the common forms of a right answer gets a reward. "
        f"Give a right completion with {{answer}} in it.{most}"
    )


def _holds(findings: list[AttackFinding], scores: dict[str, list[_Score]], rows: int) -> str:
    tried = f"{len(scores)} kinds of completions were tried on {rows} rows."
    if findings:
        return f"Wrong completions get a reward only if they contain the right answer: {tried}"
    wrong = [
        (score.value, probe)
        for probe in (*PROBES, SEARCH)
        if probe.kind == "wrong" and probe.severity == "high"
        for score in scores.get(probe.code, [])
        if score.value is not None and score.value > 0
    ]
    if not wrong:
        return f"No wrong completion gets a reward: {tried}"
    value, probe = max(wrong, key=lambda pair: pair[0])
    return (
        f"No wrong completion gets half the reward of a right one: {tried} "
        f"The most is {value:.3g}, for {lower(probe.title)}."
    )


def lower(title: str) -> str:
    return title[:1].lower() + title[1:]
