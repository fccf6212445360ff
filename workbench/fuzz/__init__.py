"""The loop that finds: seeds, mutators, scheduling, and what happens when a mismatch arrives. Runs no program itself; asks the runner."""
