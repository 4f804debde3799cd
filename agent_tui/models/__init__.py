"""Dialects and transports of the model providers."""
