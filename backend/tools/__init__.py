"""Tools of environments: their check and their trial before a job uses them."""
