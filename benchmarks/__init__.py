"""How fast `pate` is, next to the bare work it cannot avoid. Run with `make bench`."""
