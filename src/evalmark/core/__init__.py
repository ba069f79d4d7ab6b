"""The foundation of every other package.

`values` holds the frozen data classes (Case, Output, Score, Run …), `protocols` the interfaces between packages,
`errors` every deliberate error, and `settings` the merged configuration. `foreign` loads, identifies and calls
users' code; `context` carries per-trial state into that code. Nothing here needs a library other than Python's own.
"""
