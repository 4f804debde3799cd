"""Runs commands inside namespaces, bubblewrap and seccomp; imports nothing else of ours."""
