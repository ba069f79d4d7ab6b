"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""
