"""The `apply_patch` grammar and its byte-exact application."""
