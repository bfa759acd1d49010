"""Scoring completions, behind one interface. No torch here: the Celery side and the calls lane import it too."""
