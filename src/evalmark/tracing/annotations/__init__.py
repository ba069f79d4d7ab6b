"""Labels of people on outputs: finding what is labelled, reading label files, queues, and agreement of annotators.

A label has a thumb, a score or a comment. It belongs to an output of a run, a score of an output, or a recorded span.
"""
