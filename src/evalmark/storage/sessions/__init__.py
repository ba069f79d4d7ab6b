"""What apps did for their users and what people say of it, as the store keeps it, and the test cases it makes."""
