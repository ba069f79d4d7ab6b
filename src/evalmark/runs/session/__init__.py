"""What every trial of a run shares: models behind one gateway, tool replay, the store, spending and notes.

`RunSession` puts it together once for runs, dry runs, tests and the workers of a cluster. `RunStore` is what it asks of
the place where a run is kept: the store on disk, or memory.
"""
