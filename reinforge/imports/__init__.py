"""`reinforge import`: converts another system's job or reward to a folder with a job file."""

from reinforge.imports.project import ImportedProject
from reinforge.imports.read import read

__all__ = ["ImportedProject", "read"]
