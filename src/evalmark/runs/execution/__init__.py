"""Where the rooms meet: a plan out of files or Python objects, and a run out of a plan.

Its names load at first use, so that `evalmark --help` need not wait for numpy.
"""
