"""Pages of placed words → Markdown, in the order in which the modules are used.

``sheet`` is what comes in. ``furniture`` drops what is on every page, ``lines`` puts columns one
after the other, ``headings`` and ``tables`` say what the lines are, ``writing`` and ``prose`` make
text of them, and ``listings`` marks what gets no vector.
"""
