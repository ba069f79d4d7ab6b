"""Find secrets in texts and data, and mask them.

A secret is found by its value (`known_secrets`: registered keys and environment variables), by its format (`patterns`) or
by the name of its field (`fields`). `masks` combines the first two for texts and nested data. The store, the recorder,
the viewer and the commands use it.
"""
