"""Addresses of pages: query strings, paging and names in paths."""
