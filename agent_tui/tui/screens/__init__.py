"""Full-screen views; each covers everything and returns to the same scroll position and draft."""
