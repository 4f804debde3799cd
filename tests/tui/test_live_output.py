from agent_tui.tui.transcript.blocks import Output


def fed(*pieces: str) -> tuple[list[str], int]:
    output = Output()
    for piece in pieces:
        output.feed(piece)
    return list(output.lines), output.total


def test_pieces_join_to_lines() -> None:
    assert fed("a", "b\nc", "d\n", "e") == (["ab", "cd", "e"], 3)


def test_a_return_replaces_the_unfinished_line() -> None:
    assert fed("a\n1%", "\r2%", "\r3% ok\nend\n") == (["a", "3% ok", "end"], 3)
