"""Thresholds that are learned from what people say, the file that holds them, and how far a judge can be trusted."""
