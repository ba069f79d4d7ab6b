"""Several runs as one."""
