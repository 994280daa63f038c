from __future__ import annotations

import subprocess
import sys

import pytest

# What the process holds at its end, not its peak: the parser's own memory is given back.
PARSE_OFTEN = """
import sys
from rag_agent.chunk.grammar import parse
line = b"  def area[F[_]](x: F[Int], y: Int)(implicit f: Functor[F]): F[Int] = f.map(x)(_ * y)\\n"
source = b"object Shapes {\\n" + line * int(sys.argv[1]) + b"}\\n"
def held():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096
assert parse("scala", source) is not None
before = held()
for _ in range(40):
    parse("scala", source)
print((held() - before) / (40 * len(source)))
"""


# The most that may stay, in times the source. In pieces of 64 kB it was 2,800.
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("lines", "most"), [(150, 5), (250, 100)])
def test_parsing_leaves_little_behind(lines: int, most: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARSE_OFTEN, str(lines)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < most
