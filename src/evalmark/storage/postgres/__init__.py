"""A PostgreSQL server, used as a file of SQLite is: its address, a connection that takes the same statements, its errors."""
