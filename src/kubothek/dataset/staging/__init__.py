"""How rows become staged files: parsed, checked, written, paired with those of other tables, or taken back."""
