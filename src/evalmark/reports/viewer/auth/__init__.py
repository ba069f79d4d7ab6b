"""Access control of the viewer: the local server, and a guard in front of the application."""
