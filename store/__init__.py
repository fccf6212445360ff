"""The record of findings: plain records and one SQLite file. Imports neither torch, textual, reducers nor workbench."""
