"""Write every file of the security-exception demo, byte for byte the same each time.

The script knows the latent facts of each ticket; ``labels.csv`` follows from them by the policy's
own tables. Nothing here reads or imports logoslab, so the labels are independent of what is
scored against them. Run ``python generate.py`` to rewrite the folder.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import openpyxl

HERE = Path(__file__).parent
SEED, TICKETS = 20261130, 320
T = TypeVar("T")

# ---------------------------------------------------------------- the policy, as data
TERMS = {  # most severe first, which is also the order of the definitions table
    "restricted": ("cardholder numbers", "health records", "passport scans", "biometric templates"),
    "confidential": ("customer contracts", "payroll files", "source code", "merger plans"),
    "internal": ("meeting minutes", "price lists", "training slides", "shift rosters"),
    "public": ("press releases", "product brochures", "job adverts", "opening hours"),
}
PARAPHRASES = {  # what people also call them; the definitions do not know these words
    "restricted": ("card digits of shoppers", "patient charts"),
    "confidential": ("salary sheets", "takeover papers"),
    "internal": ("rota sheets", "notes of the weekly call"),
    "public": ("newsroom posts", "leaflets for visitors"),
}
EXPOSURES = ("internal", "partner", "internet")
CONTROLS = ("none", "monitoring", "segmentation", "encryption")
INHERENT = {
    "restricted": ("high", "critical", "critical"),
    "confidential": ("medium", "high", "high"),
    "internal": ("low", "medium", "medium"),
    "public": ("low", "low", "medium"),
}
RESIDUAL = {
    "critical": ("critical", "critical", "high", "medium"),
    "high": ("high", "high", "medium", "medium"),
    "medium": ("medium", "medium", "low", "low"),
    "low": ("low", "low", "low", "low"),
}
DECISIONS = (  # residual_risk, max_days, decision, clause; the first row that fits decides
    ("low", 180, "approve", "4.1"),
    ("low", 365, "approve_with_conditions", "4.2"),
    ("medium", 90, "approve_with_conditions", "4.3"),
    ("medium", 365, "escalate", "4.4"),
    ("high", 30, "approve_with_conditions", "4.5"),
    ("high", 180, "escalate", "4.6"),
    ("high", 365, "deny", "4.7"),
    ("critical", 14, "escalate", "4.8"),
    ("critical", 365, "deny", "4.9"),
)

# ---------------------------------------------------------------- how people write tickets
VENDORS = (
    "Brightline Analytics", "Café Réseau", "Delta Print & Post", "Eberhard Söhne", "Fjord Hosting",
    "Granite Payroll, Inc.", "Harbour Cloud", "Ibis Translations", "Jasper Mobility", "Kestrel CRM",
    "Łódź Data Works", "Mistral Media", "Nordvik Support", "Orchid Surveys", "Peña Logistics",
)  # fmt: skip
ARCHIVE_SYSTEMS = ("document archive", "mail archive", "backup archive", "tape archive")
OTHER_SYSTEMS = ("file share", "ticket portal", "build server", "billing ledger", "web shop")
DAYS = (7, 14, 30, 45, 60, 90, 120, 180, 270, 365)
REASONS = (
    "the old TLS library cannot be upgraded before the next release",
    "multi-factor login is not yet supported by the supplier",
    "the patch window was missed and a reboot is not possible this quarter",
    "the vendor still needs a shared service account for support",
    "audit logging has to stay off until the storage migration ends",
)
TEMPLATES = (
    "{vendor} runs our {system}, which stores {data}. {extra}We ask for an exception because "
    "{reason}.",
    "Exception for the {system} of {vendor}. {extra}It stores {data}, and {reason}.",
    "The {system} hosted by {vendor} stores {data}. {extra}Sadly {reason}.",
    "We need more time: {reason}. {extra}The {system} at {vendor} stores {data}.",
    "{extra}Today the {system} stores {data}. {vendor} reports that {reason}.",
    "Hello team, {vendor} stores {data} in the {system}. {extra}Please extend, as {reason}.",
    "Our {system} is operated by {vendor} and contains {data}; {reason}. {extra}",
    "{vendor} asked us to file this: {reason}. {extra}The {system} contains {data}.",
    "Renewal request. The {system} contains {data}. {extra}{vendor} says {reason}.",
    "For the {system} ({vendor}) {reason}. {extra}What we keep there are {data}.",
    "{extra}We keep {data} in the {system} that {vendor} maintains, and {reason}.",
    "Due to a supplier change at {vendor}, {reason}. {extra}We keep {data} on the {system}.",
)
DISTRACTORS = (
    "All {other} were removed last year. ",
    "There are no {other} in it any more. ",
    "The {other} moved elsewhere in spring. ",
    "It never held {other}. ",
)


@dataclass(frozen=True)
class Ticket:
    """The latent facts of one ticket, and how its author wrote them down."""

    id: str
    data_class: str
    exposure: str
    control: str
    days: int
    row: tuple[str, ...]


def pick(rng: random.Random, options: Sequence[T], weights: Sequence[float] | None = None) -> T:
    """One of the options. Uses only ``random()``, whose sequence is fixed across versions."""
    shares = list(weights or [1.0] * len(options))
    point = rng.random() * sum(shares)
    for option, share in zip(options, shares, strict=True):
        point -= share
        if point < 0:
            return option
    return options[-1]


def draw(rng: random.Random, number: int) -> Ticket:
    """One independent ticket: latent facts first, then messy writing."""
    style = pick(rng, ("plain", "distracted", "paraphrased"), (0.72, 0.22, 0.06))
    classes = tuple(TERMS)
    shares = (0.20, 0.27, 0.29, 0.24)
    if style == "distracted":  # the term that is not there is the more severe one
        classes, shares = classes[1:], shares[1:]
    data_class = pick(rng, classes, shares)
    data = pick(rng, (PARAPHRASES if style == "paraphrased" else TERMS)[data_class])
    extra = ""
    if style == "distracted":
        severer = tuple(TERMS)[: tuple(TERMS).index(data_class)]
        extra = pick(rng, DISTRACTORS).format(other=pick(rng, TERMS[pick(rng, severer)]))
    system = pick(rng, ARCHIVE_SYSTEMS if rng.random() < 0.45 else OTHER_SYSTEMS)
    vendor = pick(rng, VENDORS)
    text = pick(rng, TEMPLATES).format(
        vendor=vendor, system=system, data=data, extra=extra, reason=pick(rng, REASONS)
    )
    exposure, days = pick(rng, EXPOSURES, (0.4, 0.3, 0.3)), pick(rng, DAYS)
    control = pick(rng, CONTROLS, (0.34, 0.26, 0.2, 0.2))
    ticket = f"SEC-{1000 + number}"
    row = (
        ticket,
        spaced(rng, vendor),
        system,
        cased(rng, exposure),
        "" if control == "none" and rng.random() < 0.7 else cased(rng, control),
        days_written(rng, days),
        text[0].upper() + text[1:].strip(),
    )
    return Ticket(ticket, data_class, exposure, control, days, row)


def cased(rng: random.Random, word: str) -> str:
    """The word as people type it in a form: any case, stray spaces."""
    return spaced(rng, pick(rng, (word, word.title(), word.upper()), (0.6, 0.3, 0.1)))


def spaced(rng: random.Random, word: str) -> str:
    """The word, sometimes with spaces around it."""
    return pick(rng, (word, f" {word}", f"{word}  "), (0.8, 0.1, 0.1))


def days_written(rng: random.Random, days: int) -> str:
    """A number of days as people write it."""
    return pick(rng, (f"{days}", f"{days} days", f" {days} ", f"{days}d"), (0.5, 0.25, 0.15, 0.1))


def label(ticket: Ticket) -> tuple[str, str, str, str, str]:
    """ticket_id, data_class, residual_risk, decision, clause by the policy's own tables."""
    inherent = INHERENT[ticket.data_class][EXPOSURES.index(ticket.exposure)]
    residual = RESIDUAL[inherent][CONTROLS.index(ticket.control)]
    decision, clause = next(
        (d, c) for risk, most, d, c in DECISIONS if risk == residual and ticket.days <= most
    )
    return ticket.id, ticket.data_class, residual, decision, clause


# ---------------------------------------------------------------- the documents
def policy() -> str:
    """The policy: numbered clauses and the two tables that they refer to."""
    terms = [(term, name) for name, group in TERMS.items() for term in group]
    return f"""# Security exception policy

## 1 Scope

1.1 An exception lets a vendor system miss one security requirement for a limited time.
1.2 A request names the vendor, the system, its exposure, the compensating control and the days.
1.3 No exception lasts longer than 365 days.

## 2 Data classification

2.1 The class of a request is the class of the data that the system holds today. Data that was
removed, moved or never held does not count.
2.2 The table `definitions` lists the terms in use, most severe first.
2.3 When a request uses no listed term, a person classifies it.

### definitions

{markdown_table(("data", "data_class"), terms)}
## 3 Risk

3.1 Inherent risk follows from data class and exposure by the risk matrix.
3.2 Residual risk follows from inherent risk and the compensating control by the risk matrix.
3.3 A blank control means that there is none.

## 4 Decision

4.0 The first row of the table `decisions` with the residual risk and at least the requested days
decides. The answer cites its clause.

### decisions

{markdown_table(("residual_risk", "max_days", "decision", "clause"), DECISIONS)}
4.10 A decision of `escalate` needs the answer of the control owner. Without an answer the draft
still goes on record, and nothing is submitted.
4.11 Conditions of an approval are the compensating control and a review at half time.

## 5 Authority

5.1 A draft may be written by the review team.
5.2 Submitting an exception binds the company. Only the control owner may have it submitted.
"""


def intake_form() -> str:
    """The form: fields with allowed values and defaults, and worked examples of the free text."""
    fields = (
        ("ticket_id", "text", "", "", "identifier of the request"),
        ("vendor", "text", "", "", "who runs the system"),
        ("system", "text", "", "", "the system that needs the exception"),
        ("exposure", "choice", ", ".join(EXPOSURES), "", "who can reach the system"),
        ("control", "choice", ", ".join(CONTROLS), "none", "compensating control in place"),
        ("requested_days", "integer", "1 to 365", "", "how long the exception should last"),
        ("description", "text", "", "", "the request in the requester's own words"),
    )
    return f"""# Intake form: security exception

## Fields

{markdown_table(("field", "type", "allowed", "default", "meaning"), fields)}
## Instructions

{INSTRUCTIONS}

## Examples

{"".join(example_lines(text, data) for text, data in EXAMPLES)}"""


INSTRUCTIONS = "Copy the words that name the data the system holds today."
EXAMPLES = (
    (
        "Aster Labs runs our photo archive, which stores holiday pictures. We ask for an exception "
        "because the supplier is late.",
        "holiday pictures",
    ),
    (
        "All tax forms were removed last year. Today the chat server stores lunch menus. "
        "Borealis reports that the update fails.",
        "lunch menus",
    ),
    (
        "Renewal request. The wiki contains travel tips. There are no bank details in it any more. "
        "Cobalt says the key expired.",
        "travel tips",
    ),
    (
        "Due to a move at Dorado, the scanner is off. We keep floor maps on the print server.",
        "floor maps",
    ),
)


def example_lines(text: str, data: str) -> str:
    """One worked example, in the notation of a SKILL.md."""
    return f"- input: {text}\n  output: {json.dumps({'data': data})}\n"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A pipe table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(str(c) for c in line) + " |\n" for line in lines)


def brief() -> str:
    """What the team is for, in the words of the person who asks for it."""
    return """Review vendor security exception requests.

For each ticket, read the intake row and the description, find the class of the data that the
system holds today, score inherent and residual risk by the risk matrix, and decide by the policy
with the clause that supports the decision. Ask the control owner only when the policy escalates.
Write the decision as a draft in the exceptions service. Never submit: submission needs the control
owner's authority.
"""


def api(version: int) -> str:
    """The exceptions service. Version 2 renames one body field and requires one more."""
    risk = "residual_risk" if version == 1 else "risk_rating"
    fields = {"decision": sorted({d for _, _, d, _ in DECISIONS}), risk: sorted(RESIDUAL)}
    if version == 2:
        fields["data_class"] = sorted(TERMS)
    properties = "".join(
        f"        {name}:\n          type: string\n          enum: [{', '.join(values)}]\n"
        for name, values in fields.items()
    )
    echoed = "".join(f"            {name}:\n              type: string\n" for name in fields)
    required = ", ".join([*fields, "clause"])
    return f"""openapi: 3.1.0
info:
  title: Exceptions
  version: {version}.0.0
  description: Records drafts of security exceptions and submits them for signature.
servers:
  - url: http://127.0.0.1
paths:
  /exceptions/{{ticket_id}}/draft:
    parameters:
      - $ref: '#/components/parameters/TicketId'
    post:
      operationId: draft_exception
      summary: Write or replace the draft decision of a ticket.
      requestBody:
        required: true
        content:
          application/json:
            schema:
              $ref: '#/components/schemas/Draft'
      responses:
        '200':
          description: The stored draft.
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Stored'
        '422':
          description: The body does not fit the schema.
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/SchemaError'
  /exceptions/{{ticket_id}}/submit:
    parameters:
      - $ref: '#/components/parameters/TicketId'
    post:
      operationId: submit_exception
      summary: Submit the draft for signature. Binds the company.
      x-effect: external_side_effect
      responses:
        '200':
          description: The submitted exception.
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Submitted'
  /exceptions/{{ticket_id}}:
    parameters:
      - $ref: '#/components/parameters/TicketId'
    get:
      operationId: get_exception
      summary: Read what is stored for a ticket.
      responses:
        '200':
          description: The stored draft.
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Stored'
components:
  parameters:
    TicketId:
      name: ticket_id
      in: path
      required: true
      schema:
        type: string
        pattern: '^SEC-[0-9]+$'
  schemas:
    Draft:
      type: object
      additionalProperties: false
      required: [{required}]
      properties:
{properties}        clause:
          type: string
          pattern: '^[0-9]+[.][0-9]+$'
    Stored:
      type: object
      required: [ticket_id, status, draft]
      properties:
        ticket_id:
          type: string
        status:
          const: draft
        draft:
          type: object
          description: What was stored, as it was sent.
          properties:
{echoed}            clause:
              type: string
    Submitted:
      type: object
      required: [ticket_id, status]
      properties:
        ticket_id:
          type: string
        status:
          const: submitted
    SchemaError:
      type: object
      required: [error]
      properties:
        error:
          type: string
        missing:
          type: array
          items:
            type: string
        unexpected:
          type: array
          items:
            type: string
        expected:
          type: object
"""


def risk_matrix() -> bytes:
    """Two matrix sheets. Zip times and the save date are fixed, so the bytes are too."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, value, corner, columns, rows in (
        ("inherent", "inherent_risk", "data_class \\ exposure", EXPOSURES, INHERENT),
        ("residual", "residual_risk", "inherent_risk \\ control", CONTROLS, RESIDUAL),
    ):
        sheet = book.create_sheet(title)
        sheet.append([value])
        sheet.append([corner, *columns])
        for key, cells in rows.items():
            sheet.append([key, *cells])
    book.properties.created = datetime(2026, 11, 30)
    raw = io.BytesIO()
    book.save(raw)
    fixed = io.BytesIO()
    with zipfile.ZipFile(raw) as old, zipfile.ZipFile(fixed, "w", zipfile.ZIP_STORED) as new:
        for name in sorted(old.namelist()):
            saved = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>2026-11-30T00:00:00Z",
                           old.read(name))  # fmt: skip
            new.writestr(zipfile.ZipInfo(name, (2026, 11, 30, 0, 0, 0)), saved)
    return fixed.getvalue()


def csv_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """RFC 4180 with Unix line ends."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def build() -> dict[str, bytes]:
    """File name → bytes of everything this script writes."""
    rng = random.Random(SEED)
    tickets = [draw(rng, number) for number in range(TICKETS)]
    columns = (
        "ticket_id", "vendor", "system", "exposure", "control", "requested_days", "description",
    )  # fmt: skip
    labels = ("ticket_id", "data_class", "residual_risk", "decision", "clause")
    texts = {
        "policy.md": policy(),
        "intake_form.md": intake_form(),
        "brief.md": brief(),
        "tickets.csv": csv_text(columns, [t.row for t in tickets]),
        "labels.csv": csv_text(labels, [label(t) for t in tickets]),
        "exceptions_api_v1.yaml": api(1),
        "exceptions_api_v2.yaml": api(2),
    }
    files = {name: text.encode() for name, text in texts.items()}
    return {**files, "risk_matrix.xlsx": risk_matrix()}


def main(folder: Path = HERE) -> None:
    """Write the folder."""
    for name, data in build().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
