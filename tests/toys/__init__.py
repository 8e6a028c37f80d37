"""Models that exist only here, one file each: what adding a model to synparse takes."""
