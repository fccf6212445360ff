"""Algorithms that shrink a program, its inputs and its configuration to the same bug. No torch, no SQLite, no screen."""
