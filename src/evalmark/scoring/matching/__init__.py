"""When data that was found agrees with data that was expected, and how two lists are paired off."""
