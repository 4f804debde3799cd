"""Fixtures every test may use."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server.fixture import ModelServer, running_server
from tests.program import Program


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: looked over by each garbage collection, it makes
    them slow and so rare that what thousands of tests leave behind piles up."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """So does what the tests of a module have loaded, and what libraries keep of them."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program with an empty home and an empty workspace."""
    return Program.at(tmp_path)


@pytest.fixture(scope="session")
def model_server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Port and record directory of the scripted model server."""
    directory = tmp_path_factory.mktemp("model-server")
    with running_server(directory) as port:
        yield port, directory


@pytest.fixture
def model_server(model_server_process: tuple[int, Path]) -> Iterator[ModelServer]:
    """A scripted model server; the test fails on a breach of the protocol and on unplayed steps."""
    server = ModelServer(*model_server_process)
    yield server
    server.check()
