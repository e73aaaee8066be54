"""Pure decisions: values in, values out. No store, no clock, no randomness, no session."""
