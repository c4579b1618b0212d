"""Whether a message only greets, thanks or nods: nothing of it can be looked up."""

import re

_LONGEST = 80  # characters; small talk is short
# Longer phrases stand before those that they begin with: what was taken is never given back, so that
# no text takes more than one pass.
_TALK_ENGLISH = (
    r"hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|night|day)|greetings"
    r"|(?:many )?thanks(?: (?:a lot|so much|very much|again|a million|a bunch))?"
    r"|thank you(?: (?:so much|very much|again))?|thx|ty|cheers|much appreciated|(?:good|great|nice) job"
    r"|ok(?:ay)?|got it|understood|i see|(?:(?:that )?sounds |looks |very )?good|great|nice|cool|perfect"
    r"|awesome|excellent|wonderful|amazing|well done|bye(?: bye)?|goodbye|see you(?: (?:later|tomorrow|soon))?"
    r"|have a (?:nice|good|great) (?:day|weekend|evening|one)|(?:you are |you're )?welcome|no problem"
    r"|never ?mind|lol|(?:ha){2,}|how are you(?: doing)?(?: today)?|nice to meet you|what's up|that's all"
)
_FILLING_ENGLISH = r"there|everyone|all|team|folks|for (?:your|the|all the) help|so|very|much|again"
_TALK_CHINESE = (
    "你好吗|你好|您好|嗨|哈喽|哈啰|哈{2,}|大家好|早上好|上午好|中午好|下午好|晚上好|早安|晚安|在吗|在不在"
    "|谢谢|多谢|感谢|谢啦|谢了|辛苦|好的|好吧|好|嗯|哦|噢|收到|明白|知道|了解|懂|不客气|没事|没问题|没关系"
    "|再见|拜拜|回头见|明天见|太棒|真棒|真不错|不错|可以了|就这样"
)
_FILLING_CHINESE = "非常|十分|你的帮助|大家|我|你|您|啦|了|的|吧|呀|啊|太|很|真"
_TALK = rf"(?:(?:{_TALK_ENGLISH})\b|{_TALK_CHINESE})"
_ONLY_TALK = re.compile(
    rf"(?:(?:{_TALK}|(?:{_FILLING_ENGLISH})\b|{_FILLING_CHINESE})[\W_]*)++", re.IGNORECASE
)
_SOME_TALK = re.compile(_TALK, re.IGNORECASE)
_LETTER = re.compile(r"[^\W_]")


def is_small_talk(message: str) -> bool:
    """Return whether the message is made of greetings, thanks and nods, or of no letters at all."""
    text = message.strip().replace("’", "'")
    if len(text) > _LONGEST:
        return False
    first = _LETTER.search(text)
    if first is None:
        return True
    talk = text[first.start() :]
    return bool(_ONLY_TALK.fullmatch(talk) and _SOME_TALK.search(talk))
