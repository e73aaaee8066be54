"""How a cube is drawn: pure functions from a picture's facts to HTML, with its styles and its script beside them."""
