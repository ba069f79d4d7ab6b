"""The call log: recorded calls of chat models and tools.

`stored_log` and `stored_tool_log` record calls of a run and find them again by key. `group_commit` saves many calls
in one transaction, and `requests_in_flight` counts requests that never came back. `recordings` and `tool_recordings`
list calls for users, `recording_file` exports and imports them, and `transfer` copies them to another store.
"""
