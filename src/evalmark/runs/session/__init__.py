"""What every trial of a run shares: models behind one gateway, tool replay, the store, spending and notes.

`RunSession` creates all of it once, for runs, dry runs, tests and the workers of a cluster. `RunStore` is the protocol of the
storage of a run: the store on disk, or memory.
"""
