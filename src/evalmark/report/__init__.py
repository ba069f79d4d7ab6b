"""A run as text: terminal, JSON, JSONL, CSV, Markdown, JUnit and HTML."""
