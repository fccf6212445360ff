"""The triage TUI. Its process imports no torch and runs no program: it reads the store, writes triage changes through it, and queues jobs."""
