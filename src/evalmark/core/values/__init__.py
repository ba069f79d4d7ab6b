"""The nouns: frozen values that every room speaks of and none owns."""
