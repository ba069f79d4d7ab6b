"""What all formats of other tools share: results, cases and questions on their way out, and what came of files on their way in."""
