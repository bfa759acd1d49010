"""`reinforge eval`, `gate`, `reward …` and `judge …`."""
