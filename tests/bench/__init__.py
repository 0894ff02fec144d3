"""How fast the linter is, as ratios of CPU times that are measured in one run."""
