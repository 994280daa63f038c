from __future__ import annotations

import pytest

from rag_agent.extract import extract
from rag_agent.types import Document


def _mail(head: str, body: bytes = b"words\n", name: str = "a.eml") -> Document:
    return extract(head.encode("utf-8") + b"\n\n" + body, name)


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("=?utf-8?B?TmViZWwg4oCTIFdhcm51bmc=?=", "Nebel \u2013 Warnung"),
        ("=?iso-8859-1?Q?Gr=FC=DFe?= =?iso-8859-1?Q?_aus_Kiel?=", "Grüße aus Kiel"),
        ("=?no-such-code?Q?Fog?=", "=?no-such-code?Q?Fog?="),
        ("=?utf-8?B?broken", "=?utf-8?B?broken"),
        ("a subject\n that goes on", "a subject that goes on"),
        ("Größe ohne Kodierung", "Größe ohne Kodierung"),
    ],
)
def test_a_subject_is_read_as_it_was_meant_or_as_it_is_written(subject: str, title: str) -> None:
    document = _mail(f"Subject: {subject}")
    assert document.title == title
    assert document.text == f"# {title}\n\nwords\n"


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("Sat, 14 Mar 2026 23:30:00 -0500", "2026-03-14"),
        ("14 Mar 26 09:30 +0100", "2026-03-14"),
        ("Sat, 14 Mar 2026 99:99:99 +0000", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_the_date_is_that_of_the_senders_clock(date: str, day: str) -> None:
    assert _mail(f"Subject: a\nDate: {date}").date == day


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ('text/plain; charset="iso-8859-15"', "5 €".encode("iso-8859-15"), "5 €\n"),
        ('text/plain; charset="no-such-code"', "Größe".encode(), "Größe\n"),
        ('text/plain; charset="us-ascii"', "Die Größe".encode(), "Die Größe\n"),
        ("text/html; charset=utf-8", b"<h2>Fog</h2><p><b>now</b></p>", "## Fog\n\n**now**\n"),
        ("text/plain\nContent-Transfer-Encoding: base64", b"Zm9nIGhvcm4=", "fog horn\n"),
        ("text/plain\nContent-Transfer-Encoding: quoted-printable", b"gr=C3=BC=\nn", "grün\n"),
    ],
)  # fmt: skip
def test_a_text_is_decoded_as_it_says_or_as_it_can_be(kind: str, body: bytes, text: str) -> None:
    assert _mail(f"Subject: a\nContent-Type: {kind}", body).text == f"# a\n\n{text}"


def _parts(kind: str, *parts: tuple[str, str]) -> Document:
    body = "".join(f"--x\n{head}\n\n{text}\n" for head, text in parts)
    return _mail(
        f'Subject: a\nContent-Type: multipart/{kind}; boundary="x"', f"{body}--x--".encode()
    )


def test_of_alternatives_the_plain_text_is_read_unless_it_is_empty() -> None:
    html = ("Content-Type: text/html", "<p>fog</p>")
    assert _parts("alternative", ("Content-Type: text/plain", "plain fog"), html).text == (
        "# a\n\nplain fog\n"
    )
    assert _parts("alternative", ("Content-Type: text/plain", " "), html).text == "# a\n\nfog\n"


def test_pictures_and_styles_of_a_page_are_not_named_but_what_is_attached_is() -> None:
    document = _parts(
        "related",
        ("Content-Type: text/html", "<p>fog</p>"),
        ("Content-Type: text/css", "p { color: navy }"),
        ("Content-Type: image/png\nContent-ID: <logo>", "abc"),
        ("Content-Type: application/pdf\nContent-Disposition: attachment; filename=log.pdf", "abc"),
    )
    assert document.text == "# a\n\nfog\n\nAttachment: log.pdf\n"


def test_attached_texts_are_read_by_their_type_or_by_their_name() -> None:
    attach = "Content-Disposition: attachment; filename"
    document = _parts(
        "mixed",
        ("Content-Type: text/plain", "see the log"),
        (f"Content-Type: application/octet-stream\n{attach}=fees.csv", "length,fee"),
        (f"Content-Type: text/markdown\n{attach}*=utf-8''Gr%C3%B6%C3%9Fe.md", "# Größe"),
        (f"Content-Type: application/octet-stream\n{attach}=blob.bin", "0101"),
    )
    assert document.text == (
        "# a\n\nsee the log\n\nAttachment: fees.csv\n\n## fees.csv\n\nlength,fee\n\n"
        "Attachment: Größe.md\n\n## Größe.md\n\n\\# Größe\n\nAttachment: blob.bin\n"
    )


@pytest.mark.parametrize(
    "head",
    [
        "Content-Type: text/plain\nContent-Disposition: attachment; filename=.env",
        "Content-Type: application/octet-stream\nContent-Disposition: attachment; filename=.netrc",
        "Content-Type: text/plain; name=prod.tfvars",
        'Content-Type: text/plain\nContent-Disposition: inline; filename="C:\\\\me\\\\.npmrc"',
        "Content-Type: text/plain\nContent-Disposition: attachment; filename*=utf-8''%2Eenv",
    ],
)
def test_an_attachment_that_would_not_be_read_as_a_file_is_named_only(head: str) -> None:
    document = _parts("mixed", ("Content-Type: text/plain", "see it"), (head, "PIN=quokka"))
    assert "quokka" not in document.text
    assert "\n\nAttachment: " in document.text
    (warning,) = document.warnings
    assert warning.startswith("an attachment is not read: ")


def test_an_attachment_of_a_forwarded_message_is_not_read_either() -> None:
    inner = "Subject: b\nContent-Type: text/plain; name=.env\n\nPIN=quokka"
    document = _parts("mixed", ("Content-Type: message/rfc822", inner))
    assert "# b" in document.text
    assert "quokka" not in document.text


def test_a_private_key_under_any_name_is_no_text_of_a_mail() -> None:
    head = "Content-Type: text/plain\nContent-Disposition: attachment; filename=it.txt"
    document = _parts("mixed", (head, "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nquokka"))
    assert "quokka" not in document.text
    assert document.warnings == ("an attachment is not read: it.txt (a private key)",)


def test_a_saved_web_page_is_read_as_the_mail_that_it_is() -> None:
    head = "From: <Saved by a browser>\nSubject: Harbour\nContent-Type: text/html"
    document = _mail(head, b"<h1>Fees</h1>", "page.mhtml")
    assert document.text == "# Harbour\n\nFrom: <Saved by a browser>\n\n# Fees\n"


def test_a_line_of_a_mailbox_before_a_single_message_does_no_harm() -> None:
    document = extract(
        b"From a@b.example Sat Mar 14 09:30:00 2026\nSubject: fog\n\nhorn\n", "a.eml"
    )
    assert document.text == "# fog\n\nhorn\n"


def test_an_empty_mailbox_is_an_empty_document() -> None:
    assert extract(b"", "a.mbox").text == ""
