"""Numbers, verdicts and foreign texts as a person reads them, in a terminal and in files alike."""
