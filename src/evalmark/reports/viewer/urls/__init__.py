"""Addresses of pages: what one asks for, read leniently and written back, and the names of things in it."""
