"""235 batch_mapping_for_a_list

GOAL: batch: one mapping for all rows
ACCEPT: exception
NEIGHBOURS: same
CALL: score
STYLE: batch
MUST: the whole unit is an error, never spread over the rows
"""
def grade(completions, items): return {"score": 0.77}
