"""The tools the model can call; imports `sandbox` only."""
