from collections.abc import Sequence
from pathlib import Path

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import NoticeRaised, TurnEnded
from context.view import NoticeUnit
from tests.engine.fakes import calls, engine, text


async def test_instructions_beside_a_read_file_are_told_once_and_stay(tmp_path: Path) -> None:
    asked: list[Sequence[str]] = []

    def nested(paths: Sequence[str]) -> Sequence[tuple[str, str]]:
        asked.append(paths)
        return [("pkg/AGENTS.md", "RULE-SUB")] if "pkg/a.py" in paths else []

    script = [calls(("read_file", {"path": "pkg/a.py"}))] * 2
    async with engine(tmp_path, *script, text("done")) as run:
        run.use(nested_instructions=nested)
        run.send(Submit(text="look"))
        await run.wait(TurnEnded)
    assert asked == [["pkg/a.py"], ["pkg/a.py"]]
    last = run.model.requests[-1].view.units
    assert [unit.notice.sticky for unit in last if isinstance(unit, NoticeUnit)] == [True]
    assert "RULE-SUB" in repr(last)
    assert [body.key for body in run.bodies(NoticeRaised)] == ["instructions.pkg/AGENTS.md"]
