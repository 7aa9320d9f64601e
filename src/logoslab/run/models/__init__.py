"""Models behind the one port: embedded, provider, recorded; each in its module."""
