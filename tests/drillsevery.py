"""The whole list: importing the modules enters their drills."""

from tests.drills import machine, person, provider
from tests.drills.place import DRILLS

__all__ = ["DRILLS", "machine", "person", "provider"]
