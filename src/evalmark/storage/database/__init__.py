"""A store, in a file or on a server: how it is opened, what its tables are, how a value becomes a column, and who holds what."""
