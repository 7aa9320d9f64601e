"""Secrets stay out of what is recorded."""

from hypothesis import given
from hypothesis import strategies as st

from logoslab.run.redact import redact, secrets_in_environment


def test_key_like_variables_are_found() -> None:
    """Names with a credential's word and values of 8 characters or more; longest first."""
    environ = {
        "OPENAI_API_KEY": "sk-12345678",
        "GH_TOKEN": "token-longer-than-that",
        "KEYBOARD": "qwertyuiop",
        "DB_PASSWORD": "short",
        "HOME": "/somewhere/else",
        "LAB_CANARY": "canary-1234",
    }
    assert secrets_in_environment(environ) == (
        "token-longer-than-that",
        "canary-1234",
        "sk-12345678",
    )


def test_other_usual_names_and_urls_with_a_login_are_found() -> None:
    """PGPASSWORD, a personal access token, a webhook and a URL that holds a password; not PWD."""
    environ = {
        "PGPASSWORD": "pg-password",
        "GITHUB_PAT": "ghp_12345678",
        "SLACK_WEBHOOK_URL": "hooks.example/T0/B0",
        "DATABASE_URL": "postgres://me:hunter22@db/x",
        "PWD": "/somewhere/long",
        "SITE": "https://example.org/a:b@c",
    }
    assert set(secrets_in_environment(environ)) == {
        "pg-password", "ghp_12345678", "hooks.example/T0/B0", "postgres://me:hunter22@db/x",
    }  # fmt: skip


def test_every_place_is_redacted() -> None:
    """Texts, keys, lists and nested values; a longer secret wins over one inside it."""
    value = {"a secret1!": ["x secret1! y", ("secret1!-long",)], "n": 1, "none": None}
    assert redact(value, ("secret1!-long", "secret1!")) == {
        "a [redacted]": ["x [redacted] y", ["[redacted]"]],
        "n": 1,
        "none": None,
    }


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_secret_survives(before: str, after: str) -> None:
    """Whatever stands around it, the secret is gone."""
    assert "s3cr3t-value" not in redact([f"{before}s3cr3t-value{after}"], ("s3cr3t-value",))[0]
