"""Suite files: datasets, target, metrics and gate, checked as a whole."""
