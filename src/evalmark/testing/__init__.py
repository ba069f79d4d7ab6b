"""Fakes that keep their protocol's promise, for evalmark's tests and for yours."""
