"""Import files of other evaluation tools, and export runs to them.

Each tool has a module or a sub-package, tools with similar exports share `exports`, and `jsonl` imports evalmark's own
`.jsonl` reports. An importer makes suites and runs, an exporter writes a run. What all of them use is in `shared`.
"""
