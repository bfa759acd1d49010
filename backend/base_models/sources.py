"""Sources of base models: `hub:org/name@revision`, a folder or `builtin:…`, with an optional suffix
`#template=<name>` for models without a template.
"""

TEMPLATE = "#template="


def plain(source: str) -> str:
    return source.partition(TEMPLATE)[0]


def chosen_template(source: str) -> str | None:
    return source.partition(TEMPLATE)[2] or None


def with_template(source: str, template: str | None) -> str:
    return source if template in (None, "bare") else f"{source}{TEMPLATE}{template}"


def same_source(first: str, second: str) -> bool:
    first, second = plain(first), plain(second)
    if not second.startswith("hub:"):
        return first == second
    return first.partition("@")[0] == second.partition("@")[0]
