"""Record and replay the tool calls of agents under test: `@replayed`.

`replay` wraps the tool, `call` builds the key and the recording of a call, `plain_values` converts arguments and results,
and `trial_calls` connects a call with the trial that makes it. Errors of evalmark are raised in the tool call and also
noted with the trial, because agents often handle errors of tools.
"""
