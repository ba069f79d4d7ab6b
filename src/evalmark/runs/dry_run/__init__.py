"""What a run would do, before anything of it is done."""
