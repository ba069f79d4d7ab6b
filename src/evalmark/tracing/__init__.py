"""Record an application, and annotate what was recorded or what a run produced."""
