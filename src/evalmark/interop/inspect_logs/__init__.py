"""Import and export logs of Inspect: `log_files` reads the files, `samples` converts samples, `importer` makes runs and suites."""
