"""Read suite files: datasets, target, metrics and gate.

`reader` parses and checks a whole file and reports all faults at once; `suite` holds the resulting values; `schema`
applies the published JSON Schema with the checker in `json_schema`.
"""
