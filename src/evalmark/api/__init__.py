"""Where the rooms meet: a plan out of files or Python objects, and a run out of a plan."""
