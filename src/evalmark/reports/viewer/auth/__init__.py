"""Who may see the pages: a server of this machine, and a guard in front of whatever it shows."""
