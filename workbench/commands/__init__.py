"""One module a subcommand, imported only when it is used; each holds a click command named ``command``."""
