"""The Textual interface; `agent_tui.tui.entry.run` starts it, `agent_tui.tui.start` asks before it."""
