"""Text of reports: numbers, verdicts, titles and remarks, shared by the terminal, files and the viewer."""
