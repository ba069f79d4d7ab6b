"""Reports of runs and comparisons for people and other tools.

`text` formats numbers, verdicts and sentences; `html` has the templates, styles and SVG charts; `terminal`, `files` and
`viewer` build on both. All but the viewer are functions from a run to text: they read no store and print nothing.
"""
