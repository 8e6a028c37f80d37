"""Pictures of trees and heads: as SVG, PDF, PNG, a page of HTML, LaTeX, or characters in a terminal."""
