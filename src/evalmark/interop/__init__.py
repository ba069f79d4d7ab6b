"""Other tools' files in and out."""
