"""Mutants, characteristics and titles from an LLM behind any OpenAI-compatible endpoint. What it answers is data, and is run only untrusted."""
