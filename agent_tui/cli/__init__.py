"""The command line: one parser, one module a command, exit codes and one-line errors.

A command module has two functions: `add_arguments(parser)`, for what only this command takes, and
`run(arguments) -> int`, which returns the exit code. It imports at its top nothing but the standard
library's small modules and what the parser needs; everything else inside `run`.
"""
