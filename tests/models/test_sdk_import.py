"""The import of an SDK in a fresh process: what it leaves out, and that nothing is missing afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import WAIT_S

ROOT = Path(__file__).parents[2]


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_sdk_is_imported_until_it_is_asked_for() -> None:
    code = """
import sys
import agent_tui.models.router, agent_tui.models.chat, agent_tui.models.responses, agent_tui.models.messages
print([name for name in ("openai", "anthropic", "httpx2", "pydantic") if name in sys.modules])
"""
    assert run(code) == "[]"


def test_types_of_openai_wait_until_they_are_needed_and_are_all_there() -> None:
    code = """
import sys
from agent_tui.models.transport import load_sdk
sdk = load_sdk("openai")
ours = [finder for finder in sys.meta_path if "deferred" in type(finder).__module__]
assert all(finder.find_spec("openai.types", sdk.__path__) is None for finder in ours)
print("openai.types.responses.response" in sys.modules, "openai.types.batch" in sys.modules)
from openai.types.responses import Response
from openai.types import *
import openai.types.chat as chat
assert sdk.types.Batch is Batch and not hasattr(sdk.types, "no_such_type")
made = chat.ChatCompletion.model_validate(
    {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
)
print(made.model, Response.__name__, sdk.AsyncOpenAI(api_key="k").responses is not None)
"""
    loaded, rest = run(code).split("\n")
    assert loaded == "False False"
    assert rest == "m Response True"


def test_a_thread_that_looks_for_a_module_meanwhile_passes_over_no_finder() -> None:
    """The import system goes through `sys.meta_path` itself, not through a copy of it."""
    code = """
import sys
from agent_tui.models.deferred import deferring
with deferring("json"):
    looking = iter(sys.meta_path)
    met = [next(looking), next(looking)]
met += looking
print([each for each in sys.meta_path if each not in met])
"""
    assert run(code) == "[]"


def test_an_sdk_that_cannot_wait_is_imported_in_its_own_order(tmp_path: Path) -> None:
    package = tmp_path / "openai"
    (package / "types").mkdir(parents=True)
    (package / "types" / "__init__.py").write_text("VALUE = 5\n", encoding="utf-8")
    # Reads the namespace directly, which no deferred package can know of.
    text = "import sys\nfrom . import types\nVALUE = vars(sys.modules['openai.types']).get('VALUE')\n"
    (package / "__init__.py").write_text(
        text + "if VALUE is None: raise ImportError('early')\n", encoding="utf-8"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += "from agent_tui.models.transport import load_sdk\nprint(load_sdk('openai').VALUE)"
    assert run(code) == "5"


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_preloading_in_a_thread_is_waited_for(sdk: str) -> None:
    code = f"""
import gc
from agent_tui.models.transport import load_sdk, preload
thread = preload("{sdk}")
module = load_sdk("{sdk}")
thread.join()
print(module.__name__, gc.isenabled())
"""
    assert run(code) == f"{sdk} True"
