"""Pure decisions about cubes: which datasets, files and joins answer a query, and how its parts are laid out."""
