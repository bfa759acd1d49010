"""`reinforge import`: converts a job or reward from elsewhere to a folder with a job file."""

from reinforge.imports.project import Project
from reinforge.imports.read import read

__all__ = ["Project", "read"]
