"""Names of the sandbox's isolation mechanisms, by the letter that workers report."""

JAIL_NAMES = {"N": "namespaces", "L": "Landlock"}


def sandbox_words(jail: str) -> str:
    return f"sandbox: {JAIL_NAMES.get(jail, jail)}"
