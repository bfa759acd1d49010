"""What is known of each template beside its source. The first example completion scores best."""

from typing import Any

_THOUGHT = "<think>17 + 25: 10 + 20 is 30, 7 + 5 is 12.</think>"
_FORTY_WORDS = (
    "Plants make sugar from water and carbon dioxide with the energy of sunlight, which the green chlorophyll in "
    "their leaves takes in. Oxygen is left over and goes into the air, where animals and people breathe it in every "
    "day of their lives."
)

CATALOGUE: dict[str, dict[str, Any]] = {
    "exact_answer": {
        "title": "Exact answer in tags",
        "description": "Compares the text between the last <answer> tags with the row's answer, ignoring case. "
        "For questions with one right answer: arithmetic, multiple choice, classification.",
        "columns": ["answer"],
        "example_item": {"prompt": "What is 17 + 25?", "answer": "42"},
        "example_completions": [
            "17 + 25 is 30 + 12. <answer>42</answer>",
            "<answer>41</answer>",
            "It is 42.",
        ],
    },
    "number_within": {
        "title": "Number within a tolerance",
        "description": "Compares the last number of the completion with the row's answer. For word problems, physics "
        "and estimates, where 3.1416 and 3.14159 are both right and the number may stand anywhere.",
        "columns": ["answer"],
        "example_item": {"prompt": "How many seconds have two weeks?", "answer": "1209600"},
        "example_completions": [
            "14 days of 86,400 seconds are 1,209,600 seconds.",
            "14 × 86400 = 1,219,600",
            "A great many.",
        ],
    },
    "format": {
        "title": "Regular expression for the form",
        "description": "Does the completion keep a form, here a <think> block and then an <answer> block? Pays part of "
        "the score for part of the form, so that there is something to learn from. For a small weight beside another "
        "reward.",
        "columns": [],
        "example_item": {"prompt": "What is 17 + 25? Think first."},
        "example_completions": [
            f"{_THOUGHT}<answer>42</answer>",
            f"{_THOUGHT} So it is <answer>42</answer>.",
            "<answer>42",
            "42",
        ],
    },
    "json_keys": {
        "title": "Valid JSON with the wanted keys",
        "description": "Parses the completion as JSON and checks keys and types. For extraction and tool calls, where "
        "a program reads what the model writes. Says what is missing, and pays for every step on the way.",
        "columns": [],
        "example_item": {"prompt": "Order: three red mugs. Answer as JSON with name, quantity and tags."},
        "example_completions": [
            '{"name": "mug", "quantity": 3, "tags": ["red"]}',
            '{"name": "mug", "quantity": "three", "tags": ["red"]}',
            '["mug", 3]',
            "Three red mugs, coming right up.",
        ],
    },
    "length_target": {
        "title": "Gentle target for the length",
        "description": "1 for 40 to 80 words, falling off smoothly on both sides; columns `min_words` and `max_words` "
        "change the range, where a dataset has them. For summaries and answers of a wanted size, with a small weight "
        "beside another reward.",
        "columns": [],
        "example_item": {
            "prompt": "Explain photosynthesis in about 40 words.",
            "min_words": 30,
            "max_words": 50,
        },
        "example_completions": [_FORTY_WORDS, " ".join([_FORTY_WORDS] * 2), "Plants eat light."],
    },
    "several_parts": {
        "title": "Several parts with weights",
        "description": "Right, in the wanted form, and brief: three named parts, added with weights that you choose. "
        "Each part has a curve of its own. Being brief counts for right answers only.",
        "columns": ["answer"],
        "example_item": {"prompt": "What is 17 + 25?", "answer": "42"},
        "example_completions": [
            "30 + 12 <answer>42</answer>",
            "Let me see. " * 20 + "<answer>42</answer>",
            "<answer>41</answer>",
            "42",
        ],
    },
    "shorter_wins": {
        "title": "Shorter right completions win (whole group, TRL's signature)",
        "description": "Compares the completions of a prompt with each other: right ones get 1, less up to 0.2 by how "
        "long they are among the right ones. For models that talk too much although they know. Needs the granularity "
        "`group`.",
        "granularity": "group",
        "columns": ["answer"],
        "example_item": {"prompt": "What is 17 + 25?", "answer": "42"},
        "example_completions": [
            "30 + 12 <answer>42</answer>",
            "First the tens: 10 + 20 = 30. Then the ones: 7 + 5 = 12. <answer>42</answer>",
            "<answer>41</answer>",
        ],
    },
    "unit_tests": {
        "title": "Code that passes tests",
        "description": "Runs the completion's Python code in the sandbox and counts which of the row's `tests` hold. "
        "For programming tasks. Let the job isolate every completion (`isolate: sample`).",
        "columns": ["tests"],
        "example_item": {
            "prompt": "Write a function add(a, b) in Python.",
            "tests": ["add(2, 3) == 5", "add(-1, 1) == 0", 'add("a", "b") == "ab"'],
        },
        "example_completions": [
            "```python\ndef add(a, b):\n    return a + b\n```",
            "```python\ndef add(a, b):\n    return int(a) + int(b)\n```",
            "```python\ndef add(a, b)\n    return a + b\n```",
        ],
    },
}
