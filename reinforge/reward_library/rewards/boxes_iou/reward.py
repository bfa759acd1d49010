"""Mean overlap (IoU) of a completion's boxes with the row's; missing or extra boxes count 0.

The <answer> block and the row's `boxes` hold JSON: a list of [x1, y1, x2, y2] or {"box": [...],
"label": "..."}. Boxes with equal labels that overlap by LEAST or more are paired, the closest
first.
"""

import json

LEAST = 0.5  # an overlap below this is none; 0 pays for any
MOST_BOXES = 100  # a list of more gets 0


def boxes_in(value):
    """Returns [(x1, y1, x2, y2, label)], or raises ValueError."""
    if not isinstance(value, list) or len(value) > MOST_BOXES:
        raise ValueError(f"expected a list of at most {MOST_BOXES} boxes")
    boxes = []
    for entry in value:
        label = entry.get("label") if isinstance(entry, dict) else None
        box = entry.get("box") if isinstance(entry, dict) else entry
        if not isinstance(box, list) or len(box) != 4 or not all(type(x) in (int, float) for x in box):
            raise ValueError("a box is four numbers")
        if not all(abs(x) < 1e6 for x in box) or not (box[0] < box[2] and box[1] < box[3]):
            raise ValueError("a box is [left, top, right, bottom], with some area")
        boxes.append((*box, label))
    return boxes


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0 or a[4] != b[4]:
        return 0.0
    area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / area


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def grade(sample, item):
    expected = boxes_in(json.loads(item["boxes"]) if isinstance(item["boxes"], str) else item["boxes"])
    visible = sample["output_text"].rpartition("</think>")[2]
    if visible.count("<answer>") != 1 or visible.count("</answer>") != 1 or "<think>" in visible:
        return {"score": 0.0, "reason": "not exactly one <answer> block after the thinking"}
    try:
        text = visible.partition("<answer>")[2].partition("</answer>")[0]
        predicted = boxes_in(json.loads(text, parse_constant=refuse))
    except (ValueError, RecursionError) as error:
        return {"score": 0.0, "reason": f"no boxes: {error}"[:200]}
    if not expected and not predicted:
        return {"score": 1.0, "reason": "none, and there are none"}
    pairs = sorted(
        ((overlap(a, b), i, j) for i, a in enumerate(expected) for j, b in enumerate(predicted)), reverse=True
    )
    taken, left, total = set(), set(), 0.0
    for value, i, j in pairs:
        if value >= max(LEAST, 1e-9) and i not in taken and j not in left:
            taken.add(i)
            left.add(j)
            total += value
    score = total / max(len(expected), len(predicted))
    return {
        "score": score,
        "reason": f"{len(taken)} pairs of {len(expected)} boxes and {len(predicted)} predicted",
    }
