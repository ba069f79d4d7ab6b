"""The call log: recorded calls of chat models and tools.

`stored_log` and `stored_tool_log` record calls of a run, and `lookups` finds them again by key. `reply_log` makes
replies durable in a file next to the store and moves them into the store many at a time, with the transaction in
`entries`; `reply_file` has the format of the file, and `reply_recovery` stores what a killed process left in it.
`group_commit` lets many tasks share one sync or transaction, and `requests_in_flight` counts requests that never came
back. `recordings` and `tool_recordings` list calls for users, `recording_file` exports and imports them, and `transfer`
copies them to another store.
"""
