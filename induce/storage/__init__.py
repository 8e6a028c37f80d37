"""Files that synparse writes: folders replaced as a whole, the lock of a run, weights checked before they are read."""
