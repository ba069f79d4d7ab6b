"""The specification of a prompt under test: its intent, its rules, and its tests."""
