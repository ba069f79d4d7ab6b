"""Everything between a plan and stored results.

`execution` runs a plan: it opens a run session (`session`), starts the pipeline (`engine`), and stores the results. It
starts `isolation` for targets in worker processes and `cluster` for runs on Ray; both use the engine. `planning` makes
plans and builds the targets of `targets`, which read the results of agent frameworks with `transcripts`. `dry_run` and
`calibration` use `execution`; `guardrails` checks answers in an application; `tool_replay` records and replays the tool
calls of agents.
"""
