"""Which release this is. It is said here, in the code, so that it is known where the package came as a zip."""

__version__ = "0.1.0"
