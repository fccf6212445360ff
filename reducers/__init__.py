"""Shrinks a program, its inputs and its configuration while an oracle keeps saying *the same bug*. Knows no torch, no SQLite, no screen."""
