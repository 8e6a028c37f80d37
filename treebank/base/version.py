"""The version that every score and every model folder carries."""

VERSION = "0.1.0"
