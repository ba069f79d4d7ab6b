"""What a prompt under test promises: its intent, its rules, and the tests that were made of them."""
