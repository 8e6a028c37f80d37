"""Search in trees and heads by patterns, and counts of phrases and arcs."""
