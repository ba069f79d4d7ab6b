"""evalmark tells whether a change made a system built on language models better, worse, or left it the same."""
