"""Load, identify and call users' code.

`named_objects` imports `package.module:attribute`; `code_access` and `allowed_folders` decide which code a file may
name, and `import_guard` keeps a user's folder from shadowing the libraries evalmark needs. `identity`, `source` and
`module_context` make fingerprints of functions and objects. `binding`, `copying` and `threads` call them.
"""
