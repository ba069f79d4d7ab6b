"""Unit tests for what a team has recorded and labelled: each new answer beside those that people liked and disliked."""
