"""A model for the demo that needs no weights: it copies the last listed term of a ticket."""

from logoslab.demo import load_domain
from logoslab.testing.models import ScriptedModel


def terms() -> list[str]:
    """The terms of the policy's definitions table."""
    policy = (load_domain().folder / "policy.md").read_text("utf-8")
    table = policy.split("### definitions")[1].split("## 3")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    return [row[1].strip() for row in rows[2:]]


def copying_model() -> ScriptedModel:
    """Right where the affirmed data comes last, wrong on some negations, silent on paraphrases."""
    known = terms()

    def script(request):
        text = request.messages[-1].content
        found = [(text.rfind(term), term) for term in known if term in text]
        return {"data": max(found)[1] if found else "something else"}

    return ScriptedModel(script, name="copying", tokens=(100, 8), usd=0.0)
