"""Read and write JSON, YAML and text files strictly.

Every fault names file, line and column. `files` decides which paths may be opened, `text` decodes, `strict_json` and
`strict_yaml` parse whole documents, `json_stream` parses large ones piece by piece. `serialization` and `atomic_write`
write files.
"""
