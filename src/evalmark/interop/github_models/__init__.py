"""Import and export prompt files of GitHub Models.

The importer turns `*.prompt.yml` files into suites, and output of `gh models eval --json` into runs. The exporter writes
a run as prompt files, one for each model, with the results as rows of the same JSON.
"""
