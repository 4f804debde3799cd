"""Keys and what they mean: one table for each place.

The editor looks its keys up itself and acts at once, in the order they were typed: a key that went
round by the toolkit's bindings would be overtaken by the letters behind it.
"""

ANYWHERE = {
    "ctrl+c": "cancel",
    "ctrl+t": "transcript",
    "f2": "transcript",
    "ctrl+f": "find",
    "f1": "help",
    "f3": "terminals",
    "ctrl+b": "terminals",
    "f4": "mouse",
    "ctrl+l": "redraw",
    "ctrl+o": "fold",
    "ctrl+z": "suspend",
    "pageup": "page_up",
    "pagedown": "page_down",
    "ctrl+up": "pick_previous",
    "ctrl+down": "pick_next",
    "ctrl+home": "oldest",
    "ctrl+end": "newest",
}

EDITOR = ANYWHERE | {
    "enter": "send",
    "tab": "queue",
    "shift+tab": "answer_prompt",
    "ctrl+s": "steer_now",
    "ctrl+enter": "steer_now",
    "escape": "escape",
    "alt+up": "edit_pending",
    "alt+down": "edit_pending",
    "ctrl+r": "search_history",
    "ctrl+g": "external_editor",
    "ctrl+v": "paste_image",
}

EMPTY_EDITOR = {
    "question_mark": "help",
    "up": "edit_pending_or_history",
    "home": "oldest",
    "end": "newest",
    "ctrl+d": "quit",
}

NEW_LINE = ("ctrl+j", "shift+enter", "alt+enter")
NOTHING = ("ctrl+q", "ctrl+backslash")
