"""Who comes through the gate, and when."""

import asyncio

from contextfind.ingestion.gate import Gate


async def pauses() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_accounts_take_turns_however_much_work_one_has() -> None:
    gate, done = Gate(1), list[str]()

    async def work(account: str, name: str) -> None:
        async with gate.passed(account):
            done.append(name)
            await pauses()

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(work("many", f"m{number}"))
        await asyncio.sleep(0)
        for name in ("f0", "f1"):
            group.create_task(work("few", name))
    assert done == ["m0", "m1", "f0", "m2", "f1", "m3"]
    assert gate.waiting == 0
    assert gate.enter("few")


async def test_an_account_alone_may_hold_every_place_unless_it_has_a_share() -> None:
    for gate, held in ((Gate(4), 4), (Gate(4, 3), 3)):
        assert [gate.enter("a") for _ in range(6)] == [True] * held + [False] * (6 - held)
        assert gate.enter("b") is (held == 3)


async def test_work_that_fails_or_is_cancelled_gives_its_place_back() -> None:
    gate = Gate(1)

    async def hold() -> None:
        async with gate.passed("a"):
            await asyncio.Event().wait()

    holding, waiting = asyncio.create_task(hold()), asyncio.create_task(hold())
    await pauses()
    assert (gate.queue("a"), gate.queue("b")) == (1, 0)
    waiting.cancel()
    await pauses()
    assert gate.waiting == 0
    holding.cancel()
    await pauses()
    assert gate.enter("b")
