"""Secrets: what is cut out of text."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.masking import REMOVED, cut, is_private_key, mask

# Secrets are put together here, so that scanners of this repository find none in it.
_DIGITS = "0123456789abcdef"
_MIXED = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2gH4jK6m"
_BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"


def _key(kind: str, newline: str) -> str:
    body = newline.join([_BASE64, _BASE64[::-1], "AB=="])
    return (
        f"-----BEGIN {kind}PRIVATE KEY-----{newline}{body}{newline}-----END {kind}PRIVATE KEY-----"
    )


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "QWERTYUIOP234567",
        "ghp_" + _MIXED[:36],
        "github_pat_" + _MIXED + _MIXED,
        "glpat-" + _MIXED[:20],
        "xoxb-" + "1234567890-1234567890-" + _MIXED[:24],
        "sk_live_" + _MIXED[:24],
        "AIza" + _MIXED[:35],
        "sk-proj-" + _MIXED,
        "npm_" + _MIXED[:36],
        "hf_" + _MIXED[:34],
        "dop_v1_" + _DIGITS * 4,
        "eyJ" + _MIXED[:20] + ".eyJ" + _MIXED[:30] + "." + _MIXED,
        _key("", "\n"),
        _key("RSA ", "\n"),
        _key("OPENSSH ", "\\n"),
        _key("EC ", "\r\n"),
    ],
)
def test_well_known_tokens_are_removed_wherever_they_stand(secret: str) -> None:
    text = f"first\nvalue: {secret} # why\nlast\n"
    masked, removed = mask(text)
    assert removed == 1
    assert masked.replace("\n", "") == f"firstvalue: {REMOVED} # whylast"
    assert masked.count("\n") == text.count("\n")
    assert masked.split("\n")[0] == "first"
    assert masked.split("\n")[-2] == "last"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f'password = "{_MIXED[:20]}"', f'password = "{REMOVED}"'),
        (f"DB_PASSWORD: '{_MIXED[:20]}'", f"DB_PASSWORD: '{REMOVED}'"),
        (f'{{"apiKey": "{_MIXED[:24]}"}}', f'{{"apiKey": "{REMOVED}"}}'),
        (f"export API_TOKEN={_MIXED[:32]}", f"export API_TOKEN={REMOVED}"),
        (f"secret_key_base: {_DIGITS * 4}", f"secret_key_base: {REMOVED}"),
        (f"const authToken = `{_MIXED[:30]}`;", f"const authToken = `{REMOVED}`;"),
        (f"Authorization: Bearer {_MIXED}", f"Authorization: Bearer {REMOVED}"),
        (f"postgres://app:{_MIXED[:18]}@db:5432/x", f"postgres://app:{REMOVED}@db:5432/x"),
        (f"aws_secret_access_key = {_MIXED}", f"aws_secret_access_key = {REMOVED}"),
    ],
)
def test_values_that_look_made_by_a_machine_are_removed(before: str, after: str) -> None:
    assert mask(before) == (after, 1)


@pytest.mark.parametrize(
    "text",
    [
        'password = "correct horse battery staple"',
        'password = "hunter2"',
        'token = "my-access-token-2024-01-31"',
        'secret = "${SECRET_FROM_ENVIRONMENT_1234}"',
        'token_url = "https://example.com/oauth2/v1/token"',
        'api_key = os.environ["SERVICE_API_KEY_2048"]',
        "token = self.tokenizer.decode2Utf8Token3Value4()",
        "SECRET_NAME = projects/123456/secrets/name",
        'request_token = "20999d87-e304-4725-ad84-832dcbfd7fc5"',
        'password_hash_algorithm = "pbkdf2_sha256_with_salt"',
        'tokens = "0123456789 0123456789"',
        "sha256 = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "see sk-learn-some-long-hyphenated-name-of-a-page",
        'text.startswith("-----BEGIN PRIVATE KEY-----")\nand "-----END PRIVATE KEY-----" in text',
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_ordinary_text_about_secrets_stays_as_it_is(text: str) -> None:
    assert mask(text) == (text, 0)


@pytest.mark.parametrize(
    "password",
    """hunter2 correcthorsebatterystaple Summer2024! P@ssw0rd p4ss gr%40nit granite 12345678 $ecret1
    top:secretive pa$$phrase Pässwort admin postgres [ab]cd""".split(),
)
@pytest.mark.parametrize("url", ["postgres://app:{}@db:5432/x", "see redis://:{}@h, and a@b.org"])
def test_a_password_in_a_url_is_removed_whatever_it_looks_like(url: str, password: str) -> None:
    assert mask(url.format(password)) == (url.format(REMOVED), 1)
    assert mask(url.format(REMOVED)) == (url.format(REMOVED), 0)


@pytest.mark.parametrize(
    "password",
    """${DB_PASSWORD} $DB_PASSWORD $password $1 $(pass) {password} {} {{.Password}} #{pass}
    <password> %s %(password)s %PASSWORD% password PASSWORD passwd pass secret your-password
    my_secret example-password password123 changeme pass%20word *** ******** xxxxxxxx ...
    [secure] abc foobar""".split(),
)
def test_what_stands_for_a_password_in_a_url_stays(password: str) -> None:
    text = f"amqp://guest:{password}@host:5672/x and https://:{password}@host"
    assert mask(text) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "http://user:@host/",
        "amqp://guest:guest@host",
        "http://localhost:8080/@scope/name",
        "http://localhost:3000?email=me@example.com",
        "[http://localhost:8080](mailto:me@example.com)",
        "http://localhost:3000,http://localhost:4000 me@example.com",
        "git+ssh://git@example.com:me/project.git@v1.2",
        "https://cdn.example.com/react@18.2.0/a.js",
        "'://user:' + password + '@host'",
    ],
)
def test_a_url_without_a_password_stays(text: str) -> None:
    assert mask(text) == (text, 0)


def test_the_standard_library_keeps_its_text() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    changed = {
        path.relative_to(library).as_posix()
        for folder in ("asyncio", "email", "http", "json", "logging", "urllib", "xml")
        for path in (library / folder).rglob("*.py")
        if mask(path.read_text(encoding="utf-8"))[1]
    }
    assert changed == set()
    assert mask((library / "secrets.py").read_text(encoding="utf-8"))[1] == 0


@given(st.lists(st.sampled_from([*"ab1\n \"'=:", "token", "ghp_" + _MIXED[:36], _key("", "\n")])))
def test_lines_are_neither_lost_nor_added(parts: list[str]) -> None:
    text = "".join(parts)
    masked, removed = mask(text)
    assert masked.count("\n") == text.count("\n")
    assert (removed == 0) == (masked == text)
    assert mask(masked)[0].count("\n") == text.count("\n")


def test_what_is_removed_once_is_not_removed_again() -> None:
    masked, _ = mask(f'token = "ghp_{_MIXED[:36]}"')
    assert masked == f'token = "{REMOVED}"'
    assert mask(masked) == (masked, 0)


@pytest.mark.parametrize(
    "text",
    [
        "://" * 50_000,
        "://a:" + "b@" * 50_000 + "/",
        "://" + "a" * 100_000 + ":" * 100_000,
        "://a:b" * 50_000 + "/@",
    ],
)
def test_a_long_text_of_marks_of_urls_is_read_in_good_time(text: str) -> None:
    assert mask(text)[0].count("://") == text.count("://")


def test_a_password_of_very_many_words_is_judged_in_good_time() -> None:
    value = "password" * 31 + "!!!!"
    assert mask(f"https://me:{value}@host") == (f"https://me:{REMOVED}@host", 1)


def test_a_long_text_that_never_ends_a_key_is_read_in_good_time() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nA: b\n" * 2_000
    assert mask(text) == (text, 0)


def test_a_file_that_is_a_key_is_known_by_its_first_line() -> None:
    assert is_private_key(f"\ufeff\n{_key('RSA ', chr(10))}".encode())
    assert is_private_key(b"PuTTY-User-Key-File-3: ssh-rsa\n")
    assert not is_private_key(b"how to read -----BEGIN PRIVATE KEY-----")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", '\\n" +\n  "', "\n> "])
def test_a_private_key_without_its_end_is_removed(newline: str) -> None:
    whole = _key("RSA ", newline)
    for length in (len(whole) - 35, len(whole) - 45, 90):
        text, removed = mask(f"before\n{whole[:length]}")
        assert removed == 1
        assert _BASE64[:20] not in text
        assert text.startswith(f"before\n{REMOVED}")


def test_what_follows_a_private_key_without_its_end_stays() -> None:
    begun = _key("", "\n").partition("AB==")[0]
    text, _ = mask(f"{begun}\nThe rest of the key is in the vault, see vault.md.\n")
    assert text.endswith("\nThe rest of the key is in the vault, see vault.md.\n")


@given(
    st.integers(0, 200),
    st.sampled_from(["ghp_" + _MIXED[:36], _key("RSA ", "\n"), f"://me:{_MIXED[:20]}@host"]),
)
def test_a_text_is_never_cut_within_a_secret(most: int, secret: str) -> None:
    text = f"{'x ' * 40}{secret} {'y ' * 100}"
    shortened = cut(text, most)
    assert len(shortened) <= most
    assert text.startswith(shortened)
    masked, _ = mask(shortened)
    assert not any(secret[at : at + 8] in masked for at in range(12, len(secret) - 8))
