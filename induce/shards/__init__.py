"""Parsing of many or large files in shards by several workers."""
