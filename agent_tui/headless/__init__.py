"""One-shot mode for scripts."""
