from context.facts import CallFact, PathChange
from context.items import UserItem
from context.ledger import Sources, build_ledger


def fact(number: int, **values: object) -> CallFact:
    base: dict[str, object] = {
        "call_id": f"c{number}.1",
        "tool": "exec_command",
        "kind": "exec",
        "step": number,
        "target": "make",
        "key": "make",
        "status": "succeeded",
    }
    return CallFact(**(base | values))  # type: ignore[arg-type]


def ledger(*facts: CallFact, users: tuple[str, ...] = ("do it",), limit: int = 8192, **values: object) -> str:
    sources = Sources(
        users=tuple(UserItem(id=f"u{n}", text=text) for n, text in enumerate(users)),
        facts=facts,
        hidden_calls=frozenset(f.call_id for f in facts),
        **values,  # type: ignore[arg-type]
    )
    return build_ledger(sources, limit)


def test_sections_come_in_their_fixed_order() -> None:
    text = ledger(
        fact(
            1, kind="write", tool="apply_patch", changes=(PathChange(path="a.py", kind="M", sha256="f" * 64),)
        ),
        fact(
            2, target="pytest -q", key="p", is_check=True, status="failed", exit_code=1, first_error="E boom"
        ),
        fact(3, kind="read", tool="read_file", target="b.py", key="b"),
        live=("terminal t2: npm run dev",),
        history="read them with the reference `history`",
    )
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "Said by the person",
        "Files changed",
        "Checks",
        "Open failures",
        "Commands and lookups",
        "Now",
        "Hidden items",
    ]


def test_a_check_is_stale_when_files_changed_after_it() -> None:
    check = fact(1, target="pytest -q", is_check=True, exit_code=0)
    write = fact(2, kind="write", changes=(PathChange(path="a.py", kind="M"),))
    assert "`pytest -q` passed in step 1; files changed after it" in ledger(check, write)
    assert "files changed after it" not in ledger(write, check)


def test_a_failure_that_passed_later_is_not_open() -> None:
    failed = fact(1, status="failed", exit_code=2, first_error="E nope")
    assert "E nope" in ledger(failed)
    assert "## Open failures" not in ledger(failed, fact(2, exit_code=0))


def test_first_and_last_message_survive_a_tiny_quota() -> None:
    users = ("FIRST " + "a" * 5000, *(f"middle {n} " + "b" * 3000 for n in range(20)), "LAST " + "c" * 5000)
    text = ledger(users=users, limit=2000)
    assert "FIRST" in text
    assert "LAST" in text


def test_paths_are_never_dropped_and_are_grouped_when_there_are_many() -> None:
    changes = tuple(PathChange(path=f"src/d{n % 7}/f{n}.py", kind="M") for n in range(900))
    text = ledger(fact(1, kind="write", changes=changes))
    assert all(change.path in text for change in changes)
    assert "files in src/d3" in text


def test_old_successful_lookups_go_first() -> None:
    reads = [fact(n, kind="read", tool="read_file", target=f"f{n}.py", key=f"k{n}") for n in range(300)]
    failed = fact(400, target="./flaky", key="flaky", status="timed_out")
    text = ledger(failed, *reads, limit=4096)
    assert "./flaky" in text
    assert "f299.py" in text
    assert "f0.py" not in text
    assert "older ones left out" in text


def test_a_denial_keeps_its_words() -> None:
    assert "use staging" in ledger(fact(1, status="denied", denial_text="use staging, never production"))


def test_a_lost_identifier_is_appended() -> None:
    users = ("x " * 4000 + "`needle-42` " + "y " * 4000, "second", "third")
    assert "needle-42" in ledger(users=users, limit=3000)


def test_a_ledger_of_a_very_long_session_keeps_its_size() -> None:
    def facts(count: int) -> list[CallFact]:
        return [
            fact(
                n,
                kind="write",
                key=f"w{n}",
                checkpoint_id=f"7f3a/{n}",
                changes=(PathChange(path=f"made/file_{n}.txt", kind="A", sha256=f"{n:064d}"),),
            )
            for n in range(count)
        ]

    some, very_many = ledger(*facts(150)), ledger(*facts(5_000))
    assert all(f"made/file_{n}.txt" in some for n in range(150)), "names stay where full lines cannot"
    assert "checkpoint 7f3a/149" in some
    assert max(len(some), len(very_many)) < 4 * 8 * 1024
    assert "made/file_4999.txt" in very_many
    assert "5000 files in made" in very_many
