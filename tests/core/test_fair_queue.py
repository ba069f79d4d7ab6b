"""`FairQueue`: callers are served in turn, and a cancelled one takes nothing with it."""

import asyncio

from evalmark.core.fair_queue import FairQueue


def test_callers_are_served_in_turn_and_nothing_is_lost_with_a_cancelled_one():
    async def story():
        free, entered = 1, []

        def enter(_):
            nonlocal free
            if not free:
                return False
            free -= 1
            return True

        def leave(_=""):
            nonlocal free
            free += 1
            queue.advance()

        queue: FairQueue[str] = FairQueue(enter, leave)

        async def wait(name):
            await queue.acquire(name)
            entered.append(name)

        waiting = {name: asyncio.create_task(wait(name)) for name in "abcd"}
        await asyncio.sleep(0)
        waiting["b"].cancel()  # while it waits
        await asyncio.sleep(0)
        leave()
        waiting["c"].cancel()  # when it has been served, and has not resumed yet
        await asyncio.gather(*waiting.values(), return_exceptions=True)
        return entered, len(queue)

    assert asyncio.run(story()) == (["a", "d"], 0)
