"""Group-relative policy optimisation in four exchangeable parts: pure functions over tensors.

    prompts → sample G → shaping → selection → advantage → loss → optimizer step

Only the loss carries a gradient. Parts are looked up by `type`.
"""
