"""Files to values: documents, datasets and suites, each fault with its file, line and column."""
