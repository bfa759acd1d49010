"""The failures of `diagnosis_zoo.py`, how they are run and stored, and how findings are compared with the truth."""
