"""Wrappers around chat models: call log, replay, retries, rate limits and costs.

Each wrapper is a model itself. `call_config.wrap_model` puts them around a model in the right order: replay, call log, meter,
prices, retries, rate limits. All calls of one endpoint share a `Throttle`; all calls of a run share a `Meter`.
"""
