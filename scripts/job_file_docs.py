"""Write docs/job-file.md and docs/job.schema.json from `JobSpec`: every field, its type, bounds, default and meaning.

`--check` writes nothing and fails when they and the code differ.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["REINFORGE_PLUGINS"] = "off"  # the page is about what everybody has

from reinforge.base_models.learning_rate import SCALE, auto_initial_learning_rate, auto_learning_rate
from reinforge.metrics import METRICS
from reinforge.offline.jobfile import schema
from reinforge.presets import Preset
from reinforge.presets.cards import rate_note, runnable
from reinforge.spec import JobSpec

PAGE = Path(__file__).parent.parent / "docs" / "job-file.md"
SCHEMA = PAGE.with_name("job.schema.json")
INTRO = """# Job files

A job file is a `JobSpec` in YAML or JSON. Unknown keys are errors that name the field. Paths are relative to the
file. The same document is what `POST /api/v1/jobs` takes, with ids (`file-…`, `rew_…`) in place of paths.

```yaml
{example}```

`model`, `data.dataset` and one reward are enough; every other field has a default. Values that fit your model and data
are [suggested](jobs.md#suggested-values) by `reinforge job defaults`. The default learning rate is `auto`:
a wider model gets a smaller one, {scale:g} ÷ hidden size, and at sizes from 128 to 256 the first steps use more. With
several [updates per step](#algorithm) both are divided by their number. They become numbers when the job is created,
which the job's resolved specification shows. Above a hidden size of 512 the rate stays within 2e-5 and 1e-4 and was not
measured ([how it was up to 512](learning-rate.md)). Watch the first steps, and set a number if the reward does not
move, or breaks down.

| hidden size, one update per step | 64 | 128 | 256 | 512 | 768 | 1,536 | 4,096 and more |
|---|---|---|---|---|---|---|---|
| first step | {initial_rates} |
| falls to | {rates} |

Editors that know JSON Schema complete and check a job file by its first line,
`# yaml-language-server: $schema=…/docs/job.schema.json`; `reinforge job schema` prints it.

This page is written from the code by `scripts/job_file_docs.py`.
"""


def type_of(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"[{schema['$ref'].rsplit('/', 1)[1]}](#{schema['$ref'].rsplit('/', 1)[1].lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " \\| ".join(type_of(part) for part in schema[key])
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(type_of(item) for item in schema['prefixItems'])}]"
        return f"list of {type_of(schema.get('items', {}))}"
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    text = " ".join(f"{sign} {schema[key]:g}" for key, sign in bounds.items() if key in schema)
    return f"{schema.get('type', 'any')}{' ' + text if text else ''}"


def section(name: str, schema: dict[str, Any]) -> str:
    lines = [f"## {name}", ""]
    if schema.get("description"):
        lines += [schema["description"], ""]
    lines += ["| field | type | default | meaning |", "|---|---|---|---|"]
    for field, part in schema.get("properties", {}).items():
        default = "required" if field in schema.get("required", []) else default_of(part)
        meaning = part.get("description", "").replace("\n", " ")
        lines.append(f"| `{field}` | {type_of(part)} | {default} | {meaning} |")
    return "\n".join([*lines, ""])


def default_of(part: dict[str, Any]) -> str:
    value = part.get("default", "")
    if isinstance(value, dict | list) and value:
        return "as below"
    return f"`{value}`" if value not in ("", None) else "–"


def preset_text(name: str, preset: Preset) -> str:
    slots = f"`{json.dumps(preset.slots)}`" if preset.slots else "the defaults"
    lines = [
        f"### `{name}`: {preset.title}\n\n{preset.summary}\n\n    {preset.formula}\n",
        f"* Slots: {slots}",
        f"* Source: {preset.source}; confidence {preset.confidence}",
    ]
    lines += [f"* Fills besides: `{json.dumps(preset.job)}`"] if preset.job else []
    lines += [f"* Needs: {', '.join(preset.needs)}"] if preset.needs else []
    lines += [f"* Differs: {text}" for text in preset.deviations]
    lines += [f"* Learns slowly: {preset.learning}"] if preset.learning else []
    lines += [f"* As published: `{json.dumps(preset.recipe)}`"] if preset.recipe else []
    lines += [f"* Learning rate: {note}"] if (note := rate_note(preset)) else []
    return "\n".join(lines)


def rates(rate_of: Callable[[int], float]) -> str:
    """Cells of the table of what `auto` is."""
    return " | ".join(f"{rate_of(size):g}" for size in (64, 128, 256, 512, 768, 1536, 4096))


def page() -> str:
    schema = JobSpec.model_json_schema()
    example = (PAGE.parent.parent / "examples" / "arithmetic" / "job.yaml").read_text(encoding="utf-8")
    intro = INTRO.format(
        example=example,
        scale=SCALE,
        initial_rates=rates(auto_initial_learning_rate),
        rates=rates(auto_learning_rate),
    )
    parts = [intro, section("JobSpec", schema)]
    parts += [section(name, part) for name, part in schema["$defs"].items()]
    presets = "\n\n".join(
        preset_text(name, preset) for members in runnable().values() for name, preset in members.items()
    )
    parts.append(f"## Presets\n\nA preset fills the slots that the file leaves open.\n\n{presets}\n")
    rows = "\n".join(
        f'| <a id="metric-{m.key.replace("/", "-")}"></a>`{m.key}` | {m.unit} | {m.meaning} {m.reading} |'
        for m in METRICS.values()
    )
    parts.append(f"## Metrics\n\n| key | unit | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def main() -> int:
    made = {PAGE: page(), SCHEMA: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}
    if "--check" in sys.argv:
        stale = [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text]
        if stale:
            print(f"out of date: {', '.join(stale)}; run scripts/job_file_docs.py")
        return bool(stale)
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
