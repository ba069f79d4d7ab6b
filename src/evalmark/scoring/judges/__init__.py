"""Scorers that ask a chat model, called the judge, and read its reply by strict rules.

A judge gets each question once, and a second time if its reply cannot be used. Text from others than evalmark and the
metric's author is enclosed in delimiters that its writer could not have known. The prompts are data files under `prompts`.
"""
