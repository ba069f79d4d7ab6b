"""Metrics of a prompt under test: files beside it, its rules as a judge sees them, and as a machine checks them."""
