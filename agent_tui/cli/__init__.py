"""Command line: the parser and one module a command."""
