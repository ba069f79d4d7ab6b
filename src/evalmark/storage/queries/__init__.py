"""Reads runs and results for the viewer and for lists, a page at a time and in any order.

`filter` selects results and `sorting` orders them; `search` and `pagination` find the rows of a page within the
limits of a `ScanBudget`. `progress`, `verdict_counts` and `overlap` count results without reading them.
"""
