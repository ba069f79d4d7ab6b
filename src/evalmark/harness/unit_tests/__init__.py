"""Unit tests against recorded and labelled outputs, in the style of PromptWatch."""
