"""Long runs with free processes: what checks force, found again by chance and many times."""
