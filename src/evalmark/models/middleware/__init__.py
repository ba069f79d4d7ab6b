"""What stands between a run and its chat models: the journal, replay, retries, limits and money, a wrapper each.

Each name loads its file at first use, so that a run without chat models pays for none of it.
"""
