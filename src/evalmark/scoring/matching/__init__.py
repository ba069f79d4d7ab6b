"""Comparison of expected and actual data: JSON values, numbers, lists in any order."""
