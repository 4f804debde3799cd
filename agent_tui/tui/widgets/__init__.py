"""The fixed parts of the screen. A widget never calls the engine, it posts a message."""
