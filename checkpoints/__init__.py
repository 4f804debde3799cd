"""Everything that lets one come back: session records, workspace checkpoints, rollback."""
