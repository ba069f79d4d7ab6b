"""Records what an app does for its users, and never slows or breaks it."""
