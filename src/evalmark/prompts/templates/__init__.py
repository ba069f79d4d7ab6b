"""Reads prompt files (Prompty, GitHub Models, Markdown) and renders them with a safe subset of Jinja."""
