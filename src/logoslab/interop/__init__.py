"""Read other tools' files. What comes in is data, and says how it was read."""

from logoslab.interop.read import read_results
from logoslab.interop.results import Results

__all__ = ["Results", "read_results"]
