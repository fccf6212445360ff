"""Issue drafts: a repro that uses torch alone, gates that are really run, the text around them. Drafts only; nothing is ever filed."""
