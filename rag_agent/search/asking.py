"""Words with which people ask, beside the name of what they ask for."""

ASKING = frozenset(
    """
    add argument arguments bug bugs call called caller callers calls class code constant
    declaration declared define defined defines definition describe explain file find fix function
    here implementation implemented implements interface invoked lives locate located look macro
    mean means method module open parameter parameters purpose read refactor rename return
    returned returns struct take takes tell test tests trait type work works write
    definiert erkläre erklär ist macht was wer wird wo ruft
    défini définie est explique fait où que
    definida definido dónde está explica hace qué
    definição faz onde cosa definita definito dove spiega
    где делает определена определён определение объясни что
    """.split()
)
"""What stands beside a name in a question that asks for nothing else, in lower case."""
