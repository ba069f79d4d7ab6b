"""Plans: what a run consists of, made from suites, flags or Python objects, and checked before anything is spent.

Its names load at first use, so that `evalmark --help` need not wait for numpy.
"""
