"""Scorers that ask a chat model, called the judge, and read its reply by strict rules.

A judge is asked once, and a second time if its reply cannot be used. All text that is not evalmark's or the metric
author's stands between delimiters that its writer could not have known. The prompts are data files under `prompts`.
"""
