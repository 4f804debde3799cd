"""The model that help, errors and templates name where they need one; the catalogue has it."""

EXAMPLE_MODEL = "openai/gpt-6.2-sol"
EXAMPLE_LOCAL_MODEL = "ollama/qwen3-coder:30b"
