"""Prompts as files: templates, specifications, rules, metrics, and the generation of tests.

`templates` reads prompt files and renders them. `rules` checks outputs against rules in English. `specs` reads the
folder of a prompt under test. `metrics` scores its outputs, `generation` writes its tests. `rules` and `templates` are
independent of each other, and so are `metrics` and `generation`.
"""
