"""What people choose it by: in the form, in `reinforge presets show centred_rank`, and as `preset: centred_rank`."""

from reinforge.plugin import Preset

CENTRED_RANK = Preset(
    title="Centred ranks",
    summary=(
        "Compares completions by their rank in the group: the best gets 1, the worst -1, whatever the distance of "
        "their rewards. Choose it for rewards whose order can be trusted and whose size cannot, such as a judge's "
        "marks. Nearly equal rewards are told apart as much as very unequal ones."
    ),
    formula="A_i = sign(c)·|c|^power, c = (rewards below R_i - rewards above) / (G - 1)",
    source="This package; rank-based fitness shaping as in evolution strategies",
    confidence="high",
    slots={"advantage": {"type": "centred_rank"}},
)
