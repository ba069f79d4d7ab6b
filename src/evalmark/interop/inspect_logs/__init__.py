"""Import logs of Inspect as runs: `log_files` reads the files, `importer` makes cases, outputs and scores of the samples."""
