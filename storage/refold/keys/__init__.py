"""Keys: primitives, the roots that wrap a keyring, the keyring of an epoch, and the tags made with it."""
