"""Recording an application, and annotating what was recorded."""
