"""Object stores behind one interface, conditional put included."""
