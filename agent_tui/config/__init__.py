"""Settings: layers, provenance, workspace trust."""
