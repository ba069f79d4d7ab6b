"""Numbers with their uncertainty: intervals, summaries and the gate."""
