"""What a command line stands on: streams, progress, and the words that were typed. Each part is asked for by its file."""
