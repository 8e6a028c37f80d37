"""Craft, a small world of things to collect and to make (Andreas, Klein & Levine 2017), and demonstrations in it."""
