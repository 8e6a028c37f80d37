"""Files of ours on disk: folders replaced as a whole, the lock of a run, weights checked before they are read."""
