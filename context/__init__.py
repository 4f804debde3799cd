"""What the log holds and what of it a model sees; imports nothing else of ours."""
