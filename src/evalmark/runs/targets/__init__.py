"""Targets: the systems under test.

A target is an async callable from a case to an output. `function.as_target` adapts functions, classes, agents of
pydantic-ai and OpenAI Agents, and DSPy programs; the other modules make targets of models, prompts and given outputs.
"""
