"""What the rooms ask of each other: protocols, and how foreign objects are named, loaded, told apart and called."""
