"""Scores of trees and heads under named conventions."""
