"""What makes the documentation: its pages are run, filled with what they print, coloured, and built into a site."""
