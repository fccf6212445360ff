"""Triage and minimization of silent correctness bugs in torch.compile. The host side never imports torch."""

__version__ = "0.1.0"
