"""Doubles and reference implementations for tests, of Kubothek and of what is built on it."""
