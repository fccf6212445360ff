"""The oracle: judges a program eager against compiled (DESIGN §3). Compares what runners observed, with numpy; never imports torch."""
