"""Forms in which a right answer may be written."""

FORMS: dict[str, str] = {
    "plain": "{answer}",
    "sentence": "The answer is {answer}.",
    "boxed": "The answer is \\boxed{{answer}}.",
    "tagged": "<answer>{answer}</answer>",
    "hashes": "I work it out step by step.\n#### {answer}",
    "thought": "<think>I work it out step by step.</think>\n<answer>{answer}</answer>",
    "reasoning": "<reasoning>\nI work it out step by step.\n</reasoning>\n<answer>\n{answer}\n</answer>\n",
}
PLACE = "{answer}"


def written(form: str, answer: str) -> str:
    return form.replace(PLACE, answer)
