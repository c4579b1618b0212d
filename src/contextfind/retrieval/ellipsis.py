"""Planning by rules, where no language model does: what leans on the conversation gets its subject from it.

Only the obvious is resolved. A short query that points back (`how do we undo it?`, `那怎么回滚？`) is also
asked with the words that the last user turns were about. So is a short question that may lack its subject
(`where is the token?`); its own words then count fully, so that a mistake costs little. A greeting or
thanks in a conversation that has begun needs no retrieval. Anything else is asked as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextfind.domain.conversation import LAST_MESSAGES, Conversation, SessionMessage
from contextfind.domain.function_words import STOP
from contextfind.domain.queries import QueryPlan, TypedQuery
from contextfind.retrieval import plans
from contextfind.retrieval.small_talk import is_small_talk

_UNPLANNED = "No language model plans searches here: the query is searched as it was asked."
_FEW = 3  # content words up to which a query that points back does not stand by itself
_FEWER = (
    2  # content words up to which a question that does not point back may still lack its subject
)
_SHORT = 6  # words of any sort that such a question has
_TERMS = 6  # words taken from the conversation: 5 and less measured worse, 8 no better
_FADE = 0.8  # of a word's weight with every message further back; .3 to .85 measure alike
_OTHERS = 0.5  # weight of what others than the user said
_SAME_SCRIPT = (
    2.0  # times the weight: who asks in English wants what is written in English, if there is any
)
_UNSURE = 0.85  # weight of a query with a subject that it may not lack
_NO_USER = frozenset({"assistant", "system", "tool"})  # roles
_HAN_WORD = 2  # characters of a Chinese word, roughly
_LONGEST_RUN = 12  # Chinese characters taken as one term; a longer run is a clause
_LONGEST_WORD = 60  # letters; a longer one is a digest, or something inlined
_LONGEST_QUERY = 300  # characters; what is longer says what it means
_SCANNED = 4_000  # characters of a message that are looked at

_LATIN = r"0-9A-Za-z\u00c0-\u024f"
_WORD = re.compile(rf"[{_LATIN}](?:[{_LATIN}_.'’+#/-]*[{_LATIN}+#])?|[^\W{_LATIN}]+")
_HAN = re.compile("[\u3400-\u9fff]")
_CODE = re.compile(r"[0-9_]|[a-z][A-Z]|^[A-Z]{2}")
_CHAT = STOP | frozenset(
    re.findall(
        r"\S+",
        "a an as at be by do he i if in is it me my no of on or so to up us we am ok yes please could help"
        " know tell show want think look looks looking okay thanks thank hi hello hey really maybe thing"
        " things something anything everything nothing now today going go goes got give gives says say said"
        " don't doesn't didn't can't won't isn't aren't i'm i've i'll we're we've it's that's what's there's"
        " let's you're they're works work happen happens happened long often ask question sure else same"
        " instead one ones another other others way bit lot yet ago back right wrong safe did doing done"
        " being getting first next last best possible exactly actually why who when might shall ever never always",
    )
)
_FUNCTION = re.compile(
    "我们|你们|他们|她们|它们|大家|这个|那个|这些|那些|这样|那样|这里|那里|接下来|什么时候|什么|怎么样|怎么办|怎么|怎样"
    "|如何|为什么|为何|哪里|哪个|哪些|谁|多久|多少|几个|一下|一个|一些|一样|同样|现在|今天|刚才|刚刚|已经|可以|可能|应该|需要"
    "|请问|如果|但是|因为|所以|然后|还有|还是|就是|不是|没有|知道|告诉|觉得|是不是|有没有|能不能|要不要"
    "|[的了吗呢吧啊呀嘛着是和与及或把被让也都又很太我您你他她它这那此哪就]"
)
# What points back.
_POINTERS = re.compile(
    r"\b(?:it|this|these|those|they|them|same|instead|again|others?|another|"
    r"previous|above|former|latter)\b"
    r"|^(?:and|but|or|so|also)\b|\bthen\b|\b(?:what|how) about\b|\b(?:what|anything|something) else\b"
    r"|\b(?:which|that|this|other|first|second|last|new|old) ones?\b|\btell me more\b|\bgo on\b",
    re.IGNORECASE,
)
_PERSONS = re.compile(
    r"\b(?:he|she|him|his|hers?)\b", re.IGNORECASE
)  # often of a name in the query
_MAYBE = re.compile(r"\b(?:that|its|their)\b", re.IGNORECASE)  # often of something in the query
_POINTERS_HAN = re.compile(
    "[它他她这那此]|(?<!应)该|上面|上述|前者|后者|刚才|刚刚|同样|一样|接下来|另外|另一|其他|别的|继续|接着"
    "|^还(?!原|款)|呢[？?。\\s]*$"
)
_ASKS = re.compile(
    "^(?:how|why|when|where|who)\\b|怎么|怎样|如何|为什么|为何|什么时候|多久|哪里|谁", re.IGNORECASE
)
_ASKS_WHAT = re.compile(
    "^(?:what|which)\\b|什么|多少|哪", re.IGNORECASE
)  # often of a thing it names


def planned(query: str, conversation: Conversation) -> QueryPlan:
    """Return the plan by rules; the original query is in it, except for small talk."""
    said = conversation.messages[-LAST_MESSAGES:]
    if not said and not conversation.summary:
        return plans.only(query, _UNPLANNED)
    if is_small_talk(query):
        return plans.nothing("Small talk: there is nothing to look up.")
    surely = leans(query)
    if not (surely or _may_lean(query)):
        return plans.only(query, f"{_UNPLANNED} It does not point back to the conversation.")
    terms = _terms(query, said, conversation.summary)
    if not terms:
        return plans.only(query, f"{_UNPLANNED} The conversation names no subject.")
    subject = " ".join(terms)
    resolved = TypedQuery(
        f"{query.strip()} {subject}",
        None,
        "the question with its subject",
        plans.MOST_URGENT if surely else plans.MOST_URGENT + 1,
        weight=1.0 if surely else _UNSURE,
    )
    points = "points" if surely else "may point"
    reasoning = (
        f"By rules: the query {points} back to the conversation, which was about: {subject}."
    )
    return plans.together(query, [resolved], reasoning, leans=surely)


def leans(query: str) -> bool:
    """Whether a query cannot be understood without what was said before it.

    It has no words of content, or few and points back, or asks `how` and the like with one word only.
    """
    if len(query) > _LONGEST_QUERY:
        return False
    words = list(_content(query))
    size = _size(words)
    if size == 0 or size > _FEW:
        return size == 0
    if _POINTERS.search(_without_department(query)) or _POINTERS_HAN.search(query):
        return True
    if _MAYBE.search(query) and size < _FEW:
        return True
    if _PERSONS.search(query) and not any(_is_name(word) for word in words):
        return True
    return size == 1 and _asks(query, _ASKS) and not any(_CODE.search(word) for word in words)


def _may_lean(query: str) -> bool:
    """Whether a query asks so shortly that its subject may go without saying."""
    if len(query) > _LONGEST_QUERY or len(_WORD.findall(query)) > _SHORT:
        return False
    words = list(_content(query))
    few = _size(words) <= _FEWER and not any(_CODE.search(word) for word in words)
    return few and (_asks(query, _ASKS) or _asks(query, _ASKS_WHAT))


def _asks(query: str, how: re.Pattern[str]) -> bool:
    return bool(how.search(query.strip()))


def _without_department(query: str) -> str:
    """Return the query without the IT that is a department."""
    return query if query.isupper() else re.sub(r"\bIT\b", "", query)


def _terms(query: str, said: Sequence[SessionMessage], summary: str) -> Sequence[str]:
    """Return what the last user turns were about, in reading order; else what the summary begins with.

    A word weighs more the later and the oftener it was said, by whomever.
    """
    turns = [message for message in said if message.text.strip() != query.strip()]
    spelled = _spelled(turn.text for turn in turns if turn.role not in _NO_USER)
    spelled = spelled or _spelled([summary])
    weights: dict[str, float] = defaultdict(float)
    for back, turn in enumerate(reversed(turns)):
        for word in _spelled([turn.text]):
            weights[word] += _FADE**back * (_OTHERS if turn.role in _NO_USER else 1)
    asked = _spelled([query])
    new = [word for word in spelled if word not in asked]
    best = set(sorted(new, key=lambda word: -weights[word] * _kinship(word, query))[:_TERMS])
    return [spelled[word] for word in new if word in best]


def _kinship(word: str, query: str) -> float:
    """Return what a word weighs more for being in the script of the query."""
    return _SAME_SCRIPT if bool(_HAN.search(word)) == bool(_HAN.search(query)) else 1.0


def _spelled(texts: Iterable[str]) -> Mapping[str, str]:
    """Return the words with content as they were first spelled, by the word in lower case."""
    found: dict[str, str] = {}
    for text in texts:
        for word in _content(text[:_SCANNED]):
            found.setdefault(word.casefold(), word)
    return found


def _content(text: str) -> Iterator[str]:
    """Yield the words with content: of alphabets as they are spelled, of Chinese what stands between
    function words.
    """  # noqa: D205 - one sentence
    for found in _WORD.findall(text):
        if len(found) > _LONGEST_WORD and not _HAN.match(found):
            continue
        if _HAN.match(found):
            yield from (
                run[:_LONGEST_RUN] for run in _FUNCTION.split(found) if len(run) >= _HAN_WORD
            )
        elif found.casefold().replace("’", "'") not in _CHAT and (
            len(found) > 1 or found.isdigit()
        ):
            yield found


def _size(words: Iterable[str]) -> int:
    """Return how many words there are, of a Chinese run one for every two characters."""
    return sum(-(-len(word) // _HAN_WORD) if _HAN.match(word) else 1 for word in words)


def _is_name(word: str) -> bool:
    return word[0].isupper() or bool(_CODE.search(word))
