"""What a point of the collection carries, by name.

One point is one passage: its vector under `MEANING`, its words under `WORDS`, and of its record all that filters
ask for. A record without passages, and one that is gone, leaves a point that bears no vector and none of the fields
that a search asks for: only which change of the log it was written for.
"""

MEANING = "meaning"  # the dense vector
WORDS = "words"  # the sparse one

RECORD = "record"
CHANGE = "change"  # position in the log of the change that it was written for; the newest of a record counts
ROW = "row"  # 0, 1, ... of the passages of a record
ROWS = "rows"  # how many there are
ORDINAL = "ordinal"  # of the passage
ACCOUNT = "account"
OWNER = "owner"
URI = "uri"
PARENT = "parent"
NAME = "name"
LEVEL = "level"
CONTEXT_TYPE = "context_type"
TAGS = "tags"
AT = "at"  # the address itself and all above it but the root: what `Under` asks for
CREATED_AT = "created_at"  # microseconds since 1970
UPDATED_AT = "updated_at"
TERMS = "terms"  # the words in reading order, with repeats
LENGTH = "length"  # how many
GONE_FROM = "gone_from"  # account of what is gone
POSITION = (
    "position"  # of the point that says how far the log was followed, and of those of each account
)

# Of these Qdrant links its graph for each value that many points have, so that a filter leaves it in one piece. All
# others have few points a value, or are no filter of those who ask by meaning: their links would only take time.
LINKED = frozenset({ACCOUNT, OWNER, CONTEXT_TYPE, TAGS, AT})
KEYWORDS = (OWNER, PARENT, LEVEL, CONTEXT_TYPE, AT, TERMS)
SOUGHT_IN = (URI, NAME, TAGS)  # keywords in which a part is looked for
NUMBERS = (RECORD, ROW, LENGTH)  # looked up
RANGES = (CHANGE, CREATED_AT, UPDATED_AT)
