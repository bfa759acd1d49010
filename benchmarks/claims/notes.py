"""Why a claim came out as it did, as far as the numbers tell: written after the runs, by claim."""

NOTES: dict[str, str] = {}
