"""Settings: one option table, layers with provenance, providers, and the `Config` made of them."""
