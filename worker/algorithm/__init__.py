"""Group-relative policy optimisation as four exchangeable slots: pure functions over tensors.

    prompts → sample G → [1] shaping → [2] selection → [3] advantages → [4] loss → optimizer step

Slots 1 to 3 carry no gradient; slot 4 is the only differentiable one. Each slot is a registry keyed by the `type`
of the specification's settings: a variant adds a function and an entry, and nothing else branches on its name.
"""
