"""The tree and the commands in docs/architecture.md are those of the repository."""

import re

from tests.support.markdown import ROOT, section, text_of

PAGE = text_of(ROOT / "docs" / "architecture.md")


def test_the_tree_names_what_is_there() -> None:
    missing, named, top = [], 0, ""
    for line in section(PAGE, "The tree").split("```")[1].splitlines():
        if match := re.match(r"(\.?\w+)/", line):
            top = match.group(1)
        if line and not line.startswith(" "):
            paths = re.findall(r"(?:^|  )(\.?\w+/)", line)
        else:
            paths = [f"{top}/{path}" for path in re.findall(r"(?:^|(?<= ))(\w+(?:/|\.py))(?= |$)", line)]
        named += len(paths)
        missing += [path for path in paths if not (ROOT / path).exists()]
    assert missing == []
    assert named > 60


def test_each_command_is_a_module() -> None:
    modules = re.findall(r"`python -m ([\w.]+)", section(PAGE, "Processes"))
    assert len(modules) == 6
    for module in modules:
        path = ROOT / module.replace(".", "/")
        assert (path / "__main__.py").is_file() or path.with_suffix(".py").is_file()
