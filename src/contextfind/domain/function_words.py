"""English words that say nothing about what a text is about."""

import re

STOP = frozenset(
    re.findall(
        r"\w+",
        "the and for with that this from have been will when what which your their there these those into"
        " more than then they them also only each some such over about after before other using used uses"
        " file files folder folders should could would must does very just like make made need where while"
        " because between through under being were here most many every both same within without https"
        " http html true false none null self return defines class are was not but you can all any has had"
        " its our out who how may one two his her she him use get set let new see via per etc either"
        " neither whether among upon against during until again once still even much well own too now readme",
    )
)
