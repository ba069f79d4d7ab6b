"""What is under test, brought to one protocol."""
