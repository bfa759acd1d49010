"""What a base model's source is made of: `hub:org/name@revision`, a folder or `builtin:…`; `#template=<name>` behind.

A template is chosen for a model that has none of its own (`worker.models.sources`).
"""

TEMPLATE = "#template="


def plain(source: str) -> str:
    """Without the name of the template that was chosen."""
    return source.partition(TEMPLATE)[0]


def chosen_template(source: str) -> str | None:
    """The name of the template that was chosen."""
    return source.partition(TEMPLATE)[2] or None


def with_template(source: str, template: str | None) -> str:
    """`bare` is the choice of none: nothing stands behind the source."""
    return source if template in (None, "bare") else f"{source}{TEMPLATE}{template}"


def same_source(known: str, given: str) -> bool:
    """Whether a source names the same model: a revision of the hub that is not given, or was pinned, does not count."""
    known, given = plain(known), plain(given)
    if not given.startswith("hub:"):
        return known == given
    return known.partition("@")[0] == given.partition("@")[0]
