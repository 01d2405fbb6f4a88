"""The only Python that touches the native module: C handles in, plain values and our errors out."""
