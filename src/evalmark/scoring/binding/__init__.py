"""What binds, names and reads scorers of any kind, and what the built-in ones rest on."""
