"""Text for the terminal: functions from runs, trials, calls and plans to text. They print nothing."""
