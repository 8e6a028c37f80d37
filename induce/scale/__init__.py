"""More than one process, and more text than memory: shards of files, engines that parse them, corpora on disk."""
