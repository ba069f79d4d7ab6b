"""The dry run: what a run would ask and cost, before anything is sent."""
