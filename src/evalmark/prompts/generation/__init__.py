"""Generates intent, rules and tests of a prompt with a chat model, stage by stage."""
