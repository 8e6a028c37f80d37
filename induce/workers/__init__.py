"""Worker processes, shards and jobs."""
