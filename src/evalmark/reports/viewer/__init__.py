"""The viewer: web pages over the runs of a store, for a browser on this machine."""
