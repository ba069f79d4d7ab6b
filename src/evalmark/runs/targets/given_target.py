"""The target of rows that bring their own answer."""

from dataclasses import dataclass

from evalmark.core.values.case import Case, Output


@dataclass(frozen=True, slots=True)
class GivenTarget:
    """Answers with what the row gives as `answer`; nothing is called.

    >>> import asyncio
    >>> case = Case(id="1", input="2 + 2", given=Output(value="4"))
    >>> asyncio.run(Given()(case)).value
    '4'
    """

    name: str = "given answers"

    @property
    def fingerprint(self) -> str:
        """Always the same: the answers are part of their cases' fingerprints."""
        return self.name

    async def __call__(self, case: Case) -> Output:
        if case.given is not None:
            return case.given
        where = case.place or f"case {case.id!r}"
        return Output(error=f"{where}: there is no answer to score. Give the row an `answer`, or name a target.")
