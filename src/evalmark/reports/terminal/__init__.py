"""What the terminal shows: functions from runs, trials, calls and plans to text. They print nothing."""
