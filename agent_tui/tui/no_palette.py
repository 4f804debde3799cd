"""In place of the toolkit's command palette, which this interface does not have (`ENABLE_COMMAND_PALETTE`).

The toolkit imports its own with every app: lists, inputs and trees that nothing here shows, a twentieth of
a start. `toolkit.prepare` puts this where that module would be; it has the names that are imported from it.
"""


class CommandPalette:
    """One that is never open."""

    @staticmethod
    def is_open(_app: object) -> bool:
        """Whether it is."""
        return False


class Provider:
    """What would offer commands in it."""


SimpleProvider = Provider
CommandListItem = DiscoveryHit = Hit = Hits = object
