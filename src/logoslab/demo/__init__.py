"""The demo: a security-exception review from a folder of documents to a signed release."""

from logoslab.demo.domain import Domain, load_domain
from logoslab.demo.main import run_demo
from logoslab.demo.story import Story

__all__ = ["Domain", "Story", "load_domain", "run_demo"]
