"""Write fixtures/pages: a paper of ten pages in two columns, a scan, and a photo of a notice.

Needs ``pip install fpdf2 pillow pypdfium2`` and the fonts DejaVu Serif and DejaVu Sans (Debian:
fonts-dejavu); run it from anywhere. The files are committed, so this is needed only to change them.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import fpdf
import pypdfium2
from PIL import Image, ImageDraw, ImageFilter, ImageFont

PAGES = Path(__file__).resolve().parent.parent / "fixtures" / "pages"
FONTS = Path("/usr/share/fonts/truetype/dejavu")
WHEN = datetime(2026, 3, 14, tzinfo=timezone.utc)

WIDTH, HEIGHT = 595.0, 842.0  # A4 in points
COLUMN, GUTTER, LEFT, TOP, BOTTOM = 240.0, 20.0, 47.5, 70.0, 780.0
SIZE, LEADING = 9.0, 11.0

# Where a word may be broken. Only these are, and only where a line ends inside one.
BREAKS = (
    "sedi-mentation",
    "resonance",
    "hydro-graphic",
    "break-water",
    "instru-ments",
    "obser-vations",
)
SENTENCES = (
    "Station {n} recorded a surge of {a} centimetres while the breakwater kept the swell outside.",
    "At station {n} the instruments were lowered to {a} metres, below the layer of fresh water.",
    "The sedimentation at station {n} amounts to {a} millimetres a year, as earlier hydrographic"
    " work had found.",
    "Between two slacks station {n} saw {a} oscillations, and the basin answered in resonance.",
    "Observations at station {n} were repeated after {a} days, with the same suﬃcient accuracy.",
    "Station {n} lies {a} metres from the quay, where the ﬂow is weak and the ﬁne mud settles.",
)
# Said once, on the page that a question has to find.
ANSWER = (
    "During the equinoctial spring tide the pressure sensor at the lock gate failed, because a"
    " barnacle had grown over its membrane. It was replaced by a radar gauge, which stays dry."
)
SECTIONS = (
    ("1  Introduction", 9),
    ("2  Methods", 10),
    ("2.1  Tide gauges", 16),
    ("2.2  Current meters", 18),
    ("3  Results", 22),
    ("3.1  Periods of the basin", 30),
    ("3.2  Failure of a sensor", 12),
    ("4  Discussion", 44),
    ("5  Conclusions", 14),
)
TABLE = (
    ("Mode", "Period", "Height", "Damping"),
    *((str(n), f"{47.2 / n:.1f}", f"{12.9 / n:.2f}", f"0.{n}4") for n in range(1, 9)),
)


class Paper(fpdf.FPDF):
    """Two columns that fill one after the other, below whatever spans the page."""

    def __init__(self) -> None:
        super().__init__(unit="pt", format=(WIDTH, HEIGHT))
        self.set_auto_page_break(False)
        self.set_creation_date(WHEN)
        self.set_title("Seiches in a closed basin")
        self.set_author("Ines Okafor; Tomas Lindqvist")
        self.set_keywords("seiche, tide gauge, harbour")
        self.add_font("Serif", "", FONTS / "DejaVuSerif.ttf")
        self.add_font("Serif", "B", FONTS / "DejaVuSerif-Bold.ttf")
        self.column, self.y_now, self.y_top = 0, TOP, TOP
        self.new_page()

    def new_page(self) -> None:
        """The next page with its running head, its foot and its number."""
        self.add_page()
        self.column, self.y_now, self.y_top = 0, TOP, TOP
        self.set_font("Serif", "", 8)
        if self.page_no() == 1:
            return
        if self.page_no() % 2:
            self.text(LEFT, 45, "Seiches in a closed basin")
            self.text(WIDTH - LEFT - 12, 45, str(self.page_no()))
        else:
            self.text(LEFT, 45, str(self.page_no()))
            self.text(WIDTH - LEFT - 130, 45, "I. Okafor and T. Lindqvist")
        self.text(WIDTH / 2 - 80, 815, "Journal of Harbour Hydrography 12 (2026)")

    @property
    def x_now(self) -> float:
        """Where the present column begins."""
        return LEFT + self.column * (COLUMN + GUTTER)

    def room(self, height: float) -> None:
        """Go on in the next column when so much does not fit in this one."""
        if self.y_now + height <= BOTTOM:
            return
        if self.column:
            self.new_page()
        else:
            self.column, self.y_now = 1, self.y_top

    def spanning(self, text: str, size: float, style: str = "") -> None:
        """One line in the middle of the page."""
        self.set_font("Serif", style, size)
        self.text((WIDTH - self.get_string_width(text)) / 2, self.y_now + size, text)
        self.y_now += size * 1.6
        self.y_top = self.y_now + 14

    def heading(self, text: str) -> None:
        """A section's, larger and bold, that of a part in the size of the text."""
        size = 11.0 if text.split()[0].count(".") == 0 else SIZE
        self.room(4 * LEADING)
        self.y_now += 8
        self.set_font("Serif", "B", size)
        self.text(self.x_now, self.y_now + size, text)
        self.y_now += size + 8

    def paragraph(self, text: str) -> None:
        """Lines filled word by word, the first set in, broken words with a hyphen."""
        self.set_font("Serif", "", SIZE)
        for number, line in enumerate(self.lines(text)):
            self.room(LEADING)
            self.text(self.x_now + (0 if number else 10), self.y_now + SIZE, line)
            self.y_now += LEADING

    def lines(self, text: str) -> Iterator[str]:
        """The lines that a text takes in a column."""
        line, room = "", COLUMN - 10
        for word in text.split():
            longer = f"{line} {word}" if line else word
            if self.get_string_width(longer) <= room:
                line = longer
                continue
            head, tail = self.broken(line, word, room)
            yield f"{line} {head}".strip()
            line, room = tail, COLUMN
        yield line

    def broken(self, line: str, word: str, room: float) -> tuple[str, str]:
        """What of the word still fits in the line, and the rest."""
        for pattern in BREAKS:
            start, hyphen, _ = pattern.partition("-")
            if hyphen and word.lower().startswith(pattern.replace("-", "")):
                head = word[: len(start)] + "-"
                if self.get_string_width(f"{line} {head}") <= room:
                    return head, word[len(start) :]
        return "", word

    def table(self, caption: str, rows: Sequence[Sequence[str]]) -> None:
        """Cells in columns below a caption."""
        self.room((len(rows) + 4) * LEADING)
        self.y_now += LEADING
        self.set_font("Serif", "", 8)
        self.text(self.x_now, self.y_now + SIZE, caption)
        self.y_now += 1.5 * LEADING
        for row in rows:
            for place, cell in enumerate(row):
                self.text(self.x_now + place * 58, self.y_now + SIZE, cell)
            self.y_now += LEADING
        self.y_now += LEADING

    def stamp(self, text: str) -> None:
        """Turned in the left margin, as archives do."""
        self.set_font("Serif", "", 14)
        with self.rotation(90, 28, 600):
            self.text(28, 600, text)


def main() -> None:
    """Write every file."""
    PAGES.mkdir(exist_ok=True)
    _paper().output(str(PAGES / "paper.pdf"))
    _scan().output(str(PAGES / "scan.pdf"))
    _photo().save(PAGES / "notice.jpg", quality=45)


def _paper() -> Paper:
    paper = Paper()
    paper.stamp("harbXiv:2603.01234v1 [tides] 14 Mar 2026")
    paper.spanning("Seiches in a closed basin", 18, "B")
    paper.spanning("Ines Okafor and Tomas Lindqvist", 11)
    paper.y_now = paper.y_top
    paper.heading("Abstract")
    paper.paragraph(
        "Water in a harbour basin swings like a pendulum. We measured how long, how high and how"
        " often, and say what that means for the mooring of ships."
    )
    sentences = _sentences()
    for title, paragraphs in SECTIONS:
        paper.heading(title)
        for number in range(paragraphs):
            paper.paragraph(" ".join(next(sentences) for _ in range(3)))
            if title.startswith("3.2") and number == 5:
                paper.paragraph(ANSWER)
            if title.startswith("3.1") and number == 10:
                paper.table("Table 1: Modes of the basin.", TABLE)
    paper.heading("References")
    for number in range(1, 25):
        paper.paragraph(
            f"[{number}] A. Author{number}, B. Writer: On waves of the kind {number}. Annals of"
            f" Water {number + 3} ({1990 + number}), {100 + number}-{120 + number}."
        )
    return paper


def _sentences() -> Iterator[str]:
    """Stations are counted, so that a test sees the order and that none is lost."""
    chance = random.Random(14)
    number = 0
    while True:
        number += 1
        yield chance.choice(SENTENCES).format(n=number, a=chance.randint(2, 90))


def _scan() -> fpdf.FPDF:
    """Two pages that are nothing but pictures of text, and one that is text."""
    written = fpdf.FPDF()
    written.set_font("Helvetica", size=13)
    for text in (
        "Minutes of the harbour board\n\nThe board resolved to deepen the western fairway to"
        " eleven metres.\nMr Adeyemi abstained from the vote.",
        "Annex\n\nThe cost of dredging is estimated at four million crowns.\nThe spoil is to be"
        " dumped at the Havbukta site.",
    ):
        written.add_page()
        written.multi_cell(0, 9, text)
    pages = pypdfium2.PdfDocument(bytes(written.output()))
    scan = fpdf.FPDF(unit="pt", format="A4")
    scan.set_creation_date(WHEN)
    scan.set_title("Minutes")
    for page in pages:
        picture = page.render(scale=150 / 72, grayscale=True).to_pil()
        scan.add_page()
        # Slightly askew and of two colours, as an office scanner makes them.
        askew = picture.rotate(0.4, fillcolor=255, resample=Image.Resampling.BICUBIC)
        scan.image(_png(askew.point(lambda grey: 255 if grey > 140 else 0, "1")), 0, 0, w=595)
    scan.add_page()
    scan.set_font("Helvetica", size=12)
    scan.text(60, 80, "Typed note: the minutes were approved in May.")
    return scan


def _photo() -> Image.Image:
    """A notice on a quay wall, as a telephone sees it: grey, uneven, a little turned."""
    font = ImageFont.truetype(str(FONTS / "DejaVuSans-Bold.ttf"), 40)
    photo = Image.new("L", (1100, 700), 190)
    draw = ImageDraw.Draw(photo)
    lines = (
        "NOTICE TO MARINERS",
        "The swing bridge opens on request",
        "between 06:00 and 22:00.",
        "Call VHF channel 69 and wait",
        "behind the yellow buoy.",
    )
    for number, line in enumerate(lines):
        draw.text((110, 120 + number * 90), line, fill=45, font=font)
    shade = Image.linear_gradient("L").resize(photo.size)
    photo = Image.blend(photo, shade, 0.15)
    noise = Image.effect_noise(photo.size, 18)
    photo = Image.blend(photo, noise, 0.1)
    return photo.rotate(1.0, fillcolor=170, resample=Image.Resampling.BICUBIC).filter(
        ImageFilter.GaussianBlur(0.8)
    )


def _png(image: Image.Image) -> io.BytesIO:
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    stream.seek(0)
    return stream


if __name__ == "__main__":
    main()
