"""Targets, planning, the engine, run sessions, Ray, the dry run and guardrails."""
