"""Group-relative policy optimisation in four exchangeable parts: pure functions over tensors.

    prompts → sample G → shaping → selection → advantage → loss → optimizer step

Only the loss carries gradient. Each part is a registry by `type`: nothing else branches on its name.
"""
