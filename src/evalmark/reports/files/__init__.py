"""Report files: functions from a run to the chunks of a file. Only `writers.save` opens a file."""
