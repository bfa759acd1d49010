"""Third-party libraries a reward may import, and the folder they are copied into for the jails."""

import compileall
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from worker.sandbox import settings

_LAYOUT = "1"

DISTRIBUTIONS: dict[str, str] = {
    "numpy": "numpy", "scipy": "scipy", "sympy": "sympy", "pandas": "pandas", "sklearn": "scikit-learn",
    "rapidfuzz": "rapidfuzz", "jsonschema": "jsonschema", "pydantic": "pydantic", "yaml": "PyYAML",
    "nltk": "nltk", "rouge_score": "rouge-score", "sqlparse": "sqlparse", "regex": "regex",
    "math_verify": "math-verify", "mpmath": "mpmath", "latex2sympy2_extended": "latex2sympy2_extended",
}  # fmt: skip

PRELOADED: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy", "numpy.linalg", "numpy.random"),
    "scipy": (
        "scipy", "scipy.stats", "scipy.optimize", "scipy.special", "scipy.linalg", "scipy.signal",
        "scipy.spatial", "scipy.spatial.distance", "scipy.interpolate", "scipy.integrate", "scipy.sparse",
    ),
    "sympy": ("sympy", "sympy.parsing.sympy_parser", "sympy.parsing.latex"),
    "pandas": ("pandas",),
    "sklearn": (
        "sklearn", "sklearn.metrics", "sklearn.metrics.pairwise", "sklearn.feature_extraction.text",
        "sklearn.preprocessing", "sklearn.linear_model", "sklearn.cluster",
    ),
    "rapidfuzz": ("rapidfuzz", "rapidfuzz.fuzz", "rapidfuzz.process", "rapidfuzz.distance"),
    "jsonschema": ("jsonschema",),
    "pydantic": ("pydantic",),
    "yaml": ("yaml",),
    "nltk": (
        "nltk", "nltk.translate.bleu_score", "nltk.translate.gleu_score", "nltk.translate.meteor_score",
    ),
    "rouge_score": ("rouge_score", "rouge_score.rouge_scorer"),
    "sqlparse": ("sqlparse",),
    "regex": ("regex",),
    "math_verify": ("math_verify",),
    "mpmath": ("mpmath",),
    "latex2sympy2_extended": ("latex2sympy2_extended",),
}  # fmt: skip
"""The only modules that a zygote imports for a source, by library."""

LOADABLE = frozenset(module for modules in PRELOADED.values() for module in modules)

LANGUAGE_DATA = ("tokenizers/punkt_tab", "tokenizers/punkt", "corpora/wordnet", "corpora/omw-1.4")


def configuration(site: Path) -> dict[str, object]:
    present = {module for module in DISTRIBUTIONS if any(site.glob(f"{module}*"))}
    return {
        "libraries": {module: list(PRELOADED[module]) for module in DISTRIBUTIONS if module in present},
        "absent": [module for module in DISTRIBUTIONS if module not in present],
    }


def installed() -> dict[str, str]:
    return {module: package.version for module, name in DISTRIBUTIONS.items() if (package := _find(name))}


def language_data() -> dict[str, Path]:
    places = settings.language_data_folders()
    places += [Path(base, "nltk_data") for base in (sys.prefix, "/usr/local/share", "/usr/share", "/usr/lib")]
    data = {}
    for name in LANGUAGE_DATA:
        for path in (place / f"{name}{end}" for place in places for end in ("", ".zip")):
            if path.exists() and os.access(path, os.R_OK):
                data[name] = path
                break
    return data


def fingerprint() -> str:
    versions = sorted((d.metadata["Name"], d.version) for d in _closure())
    data = sorted((name, str(path), path.stat().st_mtime_ns) for name, path in language_data().items())
    return hashlib.sha256(repr((_LAYOUT, sys.version, versions, data)).encode()).hexdigest()[:12]


def copy_libraries(to: Path) -> None:
    for distribution in _closure():
        for file in distribution.files or []:
            source = Path(str(distribution.locate_file(file)))
            if ".." in file.parts or "tests" in file.parts or not source.is_file():
                continue
            target = to / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for name, path in language_data().items():
        target = to / "nltk_data" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target)
        else:
            shutil.copy2(path, target.with_name(path.name))
    compileall.compile_dir(to, quiet=2, workers=1)


def _closure() -> list[metadata.Distribution]:
    distributions: dict[str, metadata.Distribution] = {}
    pending = list(DISTRIBUTIONS.values())
    while pending:
        name = _normal(pending.pop())
        if name not in distributions and (distribution := _find(name)) is not None:
            distributions[name] = distribution
            pending += _needs(distribution)
    return [distributions[name] for name in sorted(distributions)]


def _needs(distribution: metadata.Distribution) -> Iterator[str]:
    for requirement in distribution.requires or []:
        name, _, condition = requirement.partition(";")
        if "extra" not in condition and (match := re.match(r"[A-Za-z0-9._-]+", name)):
            yield match[0]


def _find(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
