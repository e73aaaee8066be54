"""The functions that users import, gathered as Kartothek gathers them."""
