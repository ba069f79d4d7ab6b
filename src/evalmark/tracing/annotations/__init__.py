"""What people say of outputs, and which output an id means."""
