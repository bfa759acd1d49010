"""Write docs/rewards-library.md from the cards of the ready rewards: a table, and an example call of each.

`--check` writes nothing and fails when the page and the cards differ.
"""

import json
import re
import shlex
import sys
from itertools import groupby
from pathlib import Path

from reinforge.reward_library import adversarial_cases, golden_cases, library
from reinforge.schemas.rewards import RewardParameter, RewardTemplate

PAGE = Path(__file__).parent.parent / "docs" / "rewards-library.md"
EXAMPLES = 5
"""Hostile completions that the page tells of; the reward is held to all of them."""
INTRO = """# Ready rewards

{count} rewards that run as they are or are a start. Each is one readable file with its limits, golden cases it is held
to, and an adversarial set: completions that try to be paid without being right. The tests run every one of the
{golden} golden and {hostile} adversarial cases in the sandbox.

```
reinforge reward library list
reinforge reward library show numeric
reinforge reward library use numeric reward.py --set RELATIVE=0.01    # writes it, to read, edit, test and push
reinforge reward library use numeric reward.py --cases                # and its cases, for `reinforge reward golden`
```

A job file names one without a file of its own ([an example](../examples/ready/job.yaml)):

```yaml
rewards:
  - {{ready: numeric, parameters: {{RELATIVE: 0.01}}}}
  - {{ready: think_answer, weight: 0.1}}
```

The page's editor offers the same under Templates.

Common to those that read an answer: what stands before the last `</think>` is not the answer, a thought that never
ends has none, and two marked answers are none. Digits are ASCII; invisible signs are never removed.

{table}

This page is written from the cards by `scripts/reward_library_docs.py`.
"""


def columns(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def parameter(entry: RewardParameter) -> str:
    default = json.dumps(entry.default, ensure_ascii=False)
    return f"| `{entry.name}` | {f'`{default}`' if len(default) < 50 else 'see the source'} | {prose(entry.meaning)} |"


def example(template: RewardTemplate) -> str:
    """A call that scores its examples, or the lines of a job file."""
    if template.type != "python":
        fields = [line for line in template.source.strip().splitlines() if not line.startswith("#")]
        return "```yaml\nrewards:\n  - " + "\n    ".join(fields) + "\n```"
    extra = [f"--granularity {template.granularity}"] if template.granularity != "sample" else []
    lines = [
        f"reinforge reward library use {template.id}",
        " \\\n  ".join(
            [
                f"reinforge reward test {template.id}.py",
                *extra,
                f"--item {shlex.quote(json.dumps(template.example_item, ensure_ascii=False))}",
                *(f"--completion {shlex.quote(text)}" for text in template.example_completions),
            ]
        ),
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def prose(text: str) -> str:
    """Tags and formulas as code, or Markdown would swallow them."""
    return re.sub(r"(?<!`)(</?[a-z_]+>|\\[a-z]+(?:\{[^}]*\})*)", r"`\1`", text)


def section(template: RewardTemplate) -> str:
    hostile = adversarial_cases(template.id)
    step = max(1, len(hostile) // EXAMPLES)
    reasons = "; ".join(prose(case.why) for case in hostile[::step][:EXAMPLES])
    parts = [
        f"### `{template.id}`: {template.title}",
        prose(template.description),
        f"Reads {columns(template.columns)}.",
    ]
    if template.optional_columns:
        parts[-1] += f" Where the row has them: {columns(template.optional_columns)}."
    if template.granularity != "sample":
        parts[-1] += f" Sees a whole {template.granularity}."
    parts.append("\n".join(f"* {prose(limit)}" for limit in template.limits))
    if template.parameters:
        rows = "\n".join(parameter(one) for one in template.parameters)
        parts.append(f"| parameter | default | meaning |\n|---|---|---|\n{rows}")
    parts += [example(template), f"Held to {len(hostile)} hostile completions, among them: {reasons}."]
    return "\n\n".join(parts)


def page() -> str:
    every = library()
    rows = "\n".join(
        f"| [`{template.id}`](#{template.id}-{anchor(template.title)}) | {template.title} | {template.group} "
        f"| {columns(template.columns)} |"
        for template in every
    )
    intro = INTRO.format(
        count=len(every),
        golden=sum(len(golden_cases(template.id)) for template in every),
        hostile=sum(len(adversarial_cases(template.id)) for template in every),
        table=f"| id | what it pays for | group | columns |\n|---|---|---|---|\n{rows}",
    )
    groups = [
        f"## {group}\n\n" + "\n\n".join(section(template) for template in members)
        for group, members in groupby(every, key=lambda template: template.group)
    ]
    return "\n".join([intro, "\n\n".join(groups), ""])


def anchor(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print("docs/rewards-library.md is out of date: run scripts/reward_library_docs.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
