from agent_tui.tui.widgets.arming import Arming


def test_an_empty_editor_arms_half_a_second_after_the_prompt_was_drawn() -> None:
    arming = Arming(10.0)
    assert not arming.is_armed(10.4, draft=False)
    assert arming.is_armed(10.5, draft=False)


def test_a_key_starts_the_pause_again() -> None:
    arming = Arming(10.0)
    arming.key(10.4)
    assert not arming.is_armed(10.8, draft=False)
    assert arming.is_armed(10.9, draft=False)


def test_with_a_draft_only_turning_to_the_prompt_arms() -> None:
    arming = Arming(10.0)
    assert not arming.is_armed(99.0, draft=True)
    arming.ask()
    assert arming.is_armed(99.0, draft=True)


def test_who_turned_to_the_editor_has_to_turn_back() -> None:
    arming = Arming(10.0)
    arming.ask()
    arming.leave()
    assert not arming.is_armed(99.0, draft=False), "also where nothing is written yet"
    arming.drawn(99.0)
    assert not arming.is_armed(199.0, draft=False)
    arming.ask()
    assert arming.is_armed(199.0, draft=False)
    arming.leave()
    arming.opened(200.0)
    assert arming.is_armed(200.5, draft=False), "another prompt begins anew"


def test_another_picture_disarms_however_it_was_armed() -> None:
    arming = Arming(10.0)
    arming.ask()
    arming.drawn(20.0)
    assert not arming.is_armed(20.4, draft=False)
    assert arming.is_armed(20.5, draft=False)
