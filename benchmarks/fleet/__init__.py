"""The load of `fleet_live.py` and the completions of `completions.py`: what many jobs send and what people look at."""
