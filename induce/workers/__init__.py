"""Pools of workers: processes and Ray."""
