"""A prompt that leans on the turn before: "and where is it tested?".

It has no subject of its own: it is a bare "why?", or begins with a word that goes on ("and", "what
about"), or points back ("it", "that"), and says little else.
"""

# ruff: noqa: RUF001  (letters of other alphabets are what the tables are about)

from __future__ import annotations

import re
from functools import lru_cache

from rag_agent.context.chat import is_small_talk
from rag_agent.tokens import STOP_WORDS

_LONGEST = 90  # characters; whoever writes more says what it is about
_MOST_OF_BEFORE = 1_000  # characters; they say what it was about, and a chain must not grow
_MOST_OWN = 3  # words of its own with which a prompt that goes on still leans
_MOST_OWN_POINTING = 2  # and one that merely points back

# By language, since people mix: alternatives of regular expressions, on lower case.
# A whole prompt, but for punctuation and "please".
_BARE = (
    r"(?:but |and )?(?:why|why not|how|how so|how come|where|where exactly|when|since when|who|"
    r"which one|what else|where else|what then|for example|such as|in which file|in what file|"
    r"more|more details|details|tell me more|go on about that|show me(?: the)?(?: other)?"
    r"(?: ones?| code| rest| tests?| details)|the other ones?|and the other ones?)",
    r"(?:und )?(?:warum|warum nicht|warum eigentlich|wieso|weshalb|wie|wie genau|wo|wo genau|wann|"
    r"wer|welche|zum beispiel|mehr details|zeig mir (?:die|das|den) anderen?)",
    r"(?:et )?(?:pourquoi|pourquoi pas|comment|où|quand|qui|lequel|par exemple|plus de détails)",
    r"(?:y )?(?:por ?qué|por qué no|cómo|dónde|cuándo|quién|cuál|por ejemplo|más detalles)",
    r"(?:e )?(?:por ?qu[eê]|como|onde|quando|quem|qual|por exemplo|mais detalhes)",
    r"(?:e )?(?:perché|come|dove|quando|chi|quale|per esempio|più dettagli)",
    r"(?:а |и )?(?:почему|зачем|как|где|когда|кто|какой|например|подробнее)",
    r"(?:en )?(?:waarom|hoe|waar|wanneer|wie|welke|bijvoorbeeld|meer details)",
    r"(?:a |i )?(?:dlaczego|czemu|jak|gdzie|kiedy|kto|który|na przykład|więcej szczegółów)",
    r"(?:ya |peki )?(?:neden|niye|nasıl|nerede|ne zaman|kim|hangisi|örneğin)",
    r"为什么|为啥|怎么|哪里|在哪里|比如|なぜ|どうして|どこ|例えば|왜|어떻게|어디|예를 들면",
)
# The beginning of a question that goes on.
_GOES_ON = (
    r"(?:and|but|or|then|also|what about|how about|and what|what if|same (?:for|with))\b",
    r"(?:und|aber|oder|dann|auch|was ist mit|wie ist es (?:mit|bei)|und was)\b",
    r"(?:et|mais|ou|alors|aussi|qu'en est-il)\b",
    r"(?:y|pero|o|entonces|también|qué hay de)\b",
    r"(?:e|mas|ou|então|também|e quanto)\b",
    r"(?:e|ma|o|allora|anche|e per)\b",
    r"(?:а|и|но|или|тогда|тоже)\b",
    r"(?:en|maar|of|dan|ook|hoe zit het met)\b",
    r"(?:a|i|ale|albo|lub|wtedy|też|co z)\b",
    r"(?:peki|ve|ama|veya)\b",
    r"那|而|还有|另外|それで|では|じゃあ|そして|でも|그럼|그러면|그리고|근데",
)
_POINTS = (
    r"\b(?:it|its|this|that|these|those|them|they|there)\b",
    r"\b(?:es|das|dies|diese[rsmn]?|davon|dafür|damit|dabei|dort|daran)\b",
    r"\b(?:ça|cela|ceci|celui-ci|celle-ci)\b",
    r"\b(?:eso|esto|ese|este|ahí|isso|isto|nisso|disso|questo|quello)\b",
    r"\b(?:это|этого|этом|этому|там|него|его)\b",
    r"\b(?:dat|dit|daar|daarvan)\b",
    r"\b(?:tego|tym|tam)\b",
    r"\b(?:bu|bunu|bunun|orada)\b",
    r"^(?:它|这|那|それ|その|これ|この|そこ|그건|그게|그거|그것|이건|거기)",
)
# English comes first.
_ASKS = (
    r"\b(?:how|where|what|why|which|who|when)\b",
    r"\b(?:wo|wie|warum|wer|was (?:ist|sind|wird|macht|passiert|geschieht)|welche[rsmn]?)\b",
    r"\b(?:où|comment|pourquoi|qui|dónde|cómo|por qué|onde|como|dove|come|perché)\b",
    r"\b(?:где|как|почему|кто|waar|hoe|waarom|wie|gdzie|jak|dlaczego|kto|nerede|nasıl|neden|kim)\b",
    r"什么|哪|怎么|谁|どこ|どう|なぜ|何|誰|어디|어떻게|왜|누가|뭐",
)
# Of the agent and its work, not of the project.
_OF_THE_AGENT = (
    r"\b(?:did|are|have|were|will|would) you\b|\byour\b|\bhast du\b|\bbist du\b|\bdein\w*\b",
    r"\btu as\b|\bhai\b|\bты\b|\bwe do\b|\bdo next\b|\bthe plan\b|\bgehst du\b|你|あなた",
)
# What people ask of the thing before, in a question without "how" or "where".
_ASKED_OF_IT = frozenset(
    """
    anywhere called caller callers calls change changed configurable configured default defined
    described disable disabled documented enable enabled exported handled implemented limit logged
    off optional overridden override public set stored supported tested tests turn used validated
    """.split()
)
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_CONTRACTION = re.compile(r"['\u2019](?:d|ll|m|re|s|t|ve)\b")


def leans_on(prompt: str, before: str) -> bool:
    """Whether the prompt is only understood together with the one before.

    An order of the conversation ("and now commit it") leans on nothing that could be looked up.
    """
    text = _CONTRACTION.sub("", " ".join(prompt.lower().split()))
    if not before.strip() or len(text) > _LONGEST or text.startswith("/"):
        return False
    patterns = _patterns()
    core = text.strip(" ?!.…¿¡,？！。、")
    if patterns["bare"].fullmatch(re.sub(r",? ?(?:please|bitte|svp|por favor)$", "", core)):
        return True
    if patterns["agent"].search(text) or not patterns["asks"].search(text):
        return False
    own = sum(word not in STOP_WORDS for word in _LATIN_WORD.findall(core))
    # Of other languages the words that say nothing of their own are not known.
    most = 1 if patterns["english"].search(core) else 2
    if patterns["goes on"].match(core):
        return own <= most * _MOST_OWN
    if not patterns["points"].search(core) or own > most * _MOST_OWN_POINTING:
        return False
    if not _ASKED_OF_IT.isdisjoint(core.split()):
        return True
    return bool(patterns["word"].search(core)) and not is_small_talk(prompt)


def joined(prompt: str, before: str) -> str:
    """What to search for a prompt that leans on the one before: what that was about, then this."""
    return f"{before.strip()[:_MOST_OF_BEFORE]}\n{prompt.strip()}"


@lru_cache(maxsize=1)  # compiled when a turn has one before it: importing stays quick
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "bare": _any(_BARE),
        "goes on": _any(_GOES_ON),
        "points": _any(_POINTS),
        "asks": _any((r"[?？]", *_ASKS)),
        "word": _any(_ASKS),
        "english": _any(_ASKS[:1]),
        "agent": _any(_OF_THE_AGENT),
    }


def _any(alternatives: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{alternative})" for alternative in alternatives))
