"""One SQLite file: how it is opened, what its tables are, how a value becomes a column, and what its errors mean."""
