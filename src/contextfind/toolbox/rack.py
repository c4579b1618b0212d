"""All tools, in the order in which models see them."""

from typing import Any

from contextfind.toolbox.adding import ADD_RESOURCE
from contextfind.toolbox.finding import FIND, SEARCH
from contextfind.toolbox.matching import GLOB, GREP
from contextfind.toolbox.reading import LIST, READ, TREE
from contextfind.toolbox.remembering import REMEMBER
from contextfind.toolbox.standing import HEALTH
from contextfind.toolbox.tool import Tool
from contextfind.toolbox.writing import EDIT, FORGET, WRITE

TOOLS: tuple[Tool[Any], ...] = (
    FIND,
    SEARCH,
    READ,
    LIST,
    TREE,
    GREP,
    GLOB,
    REMEMBER,
    WRITE,
    EDIT,
    ADD_RESOURCE,
    FORGET,
    HEALTH,
)
