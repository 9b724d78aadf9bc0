"""One module per tool: bytes in, readings out. A parser never raises and never infers that something is well."""
