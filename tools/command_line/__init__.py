"""Understanding of shell command lines for approvals and parallelism."""
