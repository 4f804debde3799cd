"""The line-mode interface."""
