"""Long work with its stage, its pace and the time left on the screen."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from contextfind.cli.meter import Countdown, meter
from contextfind.cli.opening import opened
from contextfind.cli.pace import Pace, Paces
from contextfind.config.model import Settings
from contextfind.wiring.progress import Told

_LOOK_SECONDS = 0.5  # between two looks at what still has to be embedded


@contextmanager
def progress() -> Iterator[Told]:
    """Give what shows how far something is, stage after stage."""
    paces = Paces()
    with meter() as bar:
        yield lambda stage, done, total, unit: bar.show(
            stage, done, total, paces.at(stage, done, total, unit)
        )


async def settle(settings: Settings) -> str:
    """Let the workers of a house finish what is left to them; return a note of what could not be, empty else.

    Raises:
        Complaint: the data cannot be opened.

    """
    countdown, pace = Countdown(), Pace("texts")
    async with opened(settings) as house:
        ending = asyncio.create_task(house.settling.settle(None, None, None))
        with meter() as bar:
            while not ending.done():
                done, total = countdown.at((await house.settling.settle(None, None, 0)).texts)
                bar.show("embedded and indexed", done, total, pace.at(done, total))
                await asyncio.wait({ending}, timeout=_LOOK_SECONDS)
        return (await ending).note
