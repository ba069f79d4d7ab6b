"""Other tools' files: results and suites read into values of ours, and written out of them."""
