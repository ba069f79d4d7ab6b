"""What a trial carries with it while it runs: its calls, its tools and its clock."""
