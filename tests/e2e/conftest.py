"""What most tests of the whole program begin with; those that need another project have their own."""

from pathlib import Path

import pytest

from tests.e2e import project
from tests.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A person with a home of their own, in a project whose test fails."""
    program = Program.at(tmp_path)
    project.make(program)
    return program
