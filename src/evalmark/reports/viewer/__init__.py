"""The viewer: pages over the runs of a store, for a browser on this machine. It needs the extra `view`."""
