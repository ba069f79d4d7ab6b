"""What labels tell of a judge and of a threshold: agreement, errors, promises and corrected rates, on plain lists."""
