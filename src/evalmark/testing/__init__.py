"""Fakes for tests: chat models, embedders, call logs, sinks, a model server, a failing disk, and virtual time.

- `evalmark.testing.chat.ScriptedModel`: a chat model that replies from a list or a function.
- `evalmark.testing.embedders`: `AngleEmbedder` and `HashEmbedder`, with predictable vectors.
- `evalmark.testing.memory`: `MemoryCallLog`, `MemoryToolLog` and `MemorySink`.
- `evalmark.testing.scripted.ScriptedServer`: an HTTP server with the APIs of model providers.
- `evalmark.testing.failing_disk.FailingDisk`: fails at a chosen write of a store.
- `evalmark.testing.virtual_time.run_in_virtual_time`: runs a coroutine without waiting.
"""
