"""The page on leaving OpenAI's hosted evals is followed, with an account and models on this machine."""

import re
import shlex

from evalmark.testing.scripted import ScriptedServer
from tests.importing import own_imports
from tests.interop.openai_evals.account import KEY, Account
from tests.interop.openai_evals.account import world as account_of
from tests.test_docs import DOCS

from .test_pages import NOT_RUN, in_a_shell, reply, steady, steps

PAGE = DOCS / "how-to" / "openai-evals.md"


def test_the_steps_of_the_page_do_what_it_says(evalmark, world, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    done = 0
    with Account(*account_of()) as account, ScriptedServer(reply) as models:
        for kind, command, lines in steps(PAGE):
            assert kind == "command"
            if NOT_RUN.search(command):
                continue
            address = account.url if "--from-api" in command else f"{models.url}/v1"
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            if command.startswith("evalmark "):
                with own_imports(world):
                    printed = evalmark(*shlex.split(command)[1:]).text
            else:
                _, printed = in_a_shell(command, world)
            wanted = [".*" if line == "…" else re.escape(steady(line)).replace("…", ".*") for line in lines]
            assert re.search("\n".join(wanted) or ".*", "\n".join(map(steady, printed.splitlines())), re.DOTALL), (
                printed
            )
            done += 1
    assert done >= 6
    assert account.problems == []
