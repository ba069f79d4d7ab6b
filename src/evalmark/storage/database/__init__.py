"""Opens the database of a store and maps values to columns.

`open` opens a store in a file or on a server; `sqlite` does it for files. `schema` holds the tables as numbered
migration steps. `fields` and `field_specs` convert values to JSON and back. `holder` says which process writes a run.
`errors` turns errors of SQLite and of the file system into messages for users.
"""
