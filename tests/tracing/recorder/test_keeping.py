"""What is recorded reaches the disk, without a secret, or is counted; and the app never notices."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import apsw
import pytest

from evalmark import record
from evalmark.inputs.secrets.masks import mask_secrets
from evalmark.recording import flush
from evalmark.store import open_store
from evalmark.tracing.recorder.queue_registry import queue_for
from evalmark.tracing.recorder.span_queue import MAX_WAITING_SPANS

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9mLWl0"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc+/=\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "openai": "sk-" + "aB3" * 16,
    "a project's": "sk-proj-" + "aB3_" * 20,
    "anthropic": "sk-ant-api03-" + "aB3-" * 20,
    "stripe": "sk_live_" + "aB3" * 10,
    "aws": "AKIA" + "ABCD1234" * 2,
    "github": "ghp_" + "aB3" * 12,
    "github, fine": "github_pat_" + "aB3_" * 20,
    "gitlab": "glpat-" + "aB3x" * 5,
    "google": "AIza" + "aB3-x" * 7,
    "slack": "xoxb-" + "123456789012-abcDEF",
    "hugging face": "hf_" + "aBc" * 11,
    "a web token": JWT,
    "a header": "Authorization: Bearer abcdefghijklmnop",
    "basic": "Basic dXNlcjpwYXNzd29yZA==",
    "a private key": KEY,
    "an address": "postgres://ann:s3cr3tpw@db.example/x",
    "a setting": "API_KEY=abcdef123456",
    "as JSON": '{"client_secret": "abcdef123456"}',
    "as JSON within JSON": '{\\"client_secret\\": \\"abcdef123456\\"}',
    "of several words": '{"password": "correct horse, battery; staple"}',
    "of aws": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "of a framework": "SECRET_KEY=abcdef123456",
    "of azure": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abcdef123456==",
    "a token": "token=abcdef123456",
    "a signed address": "https://a.example/b?sv=1&sig=abcdef123456",
    "an address, with @": "postgres://ann:s3@cr3tpw@db.example/x",
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_known_by_their_shape(name):
    secret = SECRETS[name]
    found = mask_secrets(f"say {secret} twice {secret} end")
    assert "(not kept)" in found
    for word in (secret.split("://ann:")[-1].split("@")[0], secret.rsplit(" ", 1)[-1].strip('"}')):
        assert word not in found or word == KEY.rsplit(" ", 1)[-1]
    assert found.startswith("say ")
    assert found.endswith(" end")


def test_an_encrypted_private_key_and_one_that_is_cut_off_go_to_their_end():
    head = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\nMIIEow\n"
    assert mask_secrets(f"say {head}-----END RSA PRIVATE KEY----- end") == "say (not kept) end"
    assert mask_secrets(f"say {head}") == "say (not kept)"


@pytest.mark.parametrize(
    "text",
    [
        "ask-me-anything about the risk-averse task-force-of-seventeen",
        "The bearer of this letter is Ann.",
        "see https://example.org/a:b@c and mail ann@example.org",
        "the token limit is 4096 tokens: keep it",
        "tokens: 12, key: yes",
        "the next token: probably a comma; is it?",
        "eyJ is how a web token begins",
        "",
    ],
)
def test_plain_words_stay(text):
    assert mask_secrets(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("key = value; sk- and gh and eyJ and Bearer and :// and @ " * 2_000, None, id="beginnings"),
        pytest.param("a" * 100_000 + "://" + "b" * 100_000, None, id="half an address"),
        pytest.param("eyJ" + "a" * 100_000, None, id="half a web token"),
        pytest.param("-----BEGIN PRIVATE KEY-----" + "-" * 100_000, "(not kept)", id="a key without an end"),
    ],
)
def test_a_long_text_that_begins_like_secrets_is_searched_to_its_end(text, kept):
    # A search that began anew at every character would take hours.
    assert mask_secrets(f"{text} token=abcdef123456") == (kept or f"{text} token=(not kept)")


def test_no_secret_reaches_the_disk(store, answers):
    @record("demo", store=store, metadata={"token": "t0ps3cr3t"}, session="sk-" + "s" * 40)
    def answer(question, settings):
        with record.step("tool", kind="tool", input={"password": "hunter2-xyz"}) as step:
            step.output = [f"found {JWT}"]
            step.template = "hf_" + "t" * 36
            step.metadata |= {
                "aws_secret_access_key": "wJalrX",
                "nested": [{"refresh_token": "r3fr3sh"}],
                "secret_key": "k3yk3y",
            }
        raise KeyError("ghp_" + "e" * 36)

    with pytest.raises(KeyError):
        answer("my key is sk-" + "q" * 40, settings={"headers": {"Authorization": "abc-def-ghi"}})
    assert len(answers()) == 1
    written = b"".join(path.read_bytes() for path in store.parent.iterdir())
    named = ("wJalrX", "r3fr3sh", "k3yk3y")
    for secret in ("t0ps3cr3t", "s" * 40, "hunter2-xyz", JWT, "e" * 36, "q" * 40, "abc-def-ghi", "t" * 36, *named):
        assert secret.encode() not in written


def test_the_redactor_sees_every_text(store, kept):
    seen = []

    def redact(text):
        seen.append(text)
        return text.replace("Ann", "[name]")

    made = record("demo", store=store, redact=redact, session="Ann", metadata={"who": "Ann"})
    with made as session, session.answer({"q": ["Ann?"]}, name="Ann", metadata={"m": "Ann"}) as span:
        span.output, span.contexts = "Ann!", ["Ann lives"]
    (found,) = kept()
    assert "Ann" in seen
    assert "Ann" not in repr(found)
    assert found.answers[0].output == "[name]!"


def test_a_redactor_that_breaks_lets_nothing_through(store, answers):
    record("demo", store=store, redact=lambda text: 1 / 0)(lambda question: question)("private")
    (span,) = answers()
    assert span.input == span.output == "(not kept) (the redactor failed)"


def test_a_session_goes_on_under_its_key(store, kept):
    for turn in range(3):
        with record("demo", session="user-7", metadata={"turn": turn}, store=store) as session:
            session.metadata[f"seen {turn}"] = True
            with session.answer(turn) as span:
                span.output = turn
        flush(5)
    (found,) = kept()
    assert [span.input for span in found.answers] == [0, 1, 2]
    assert found.metadata == {"session": "user-7", "turn": 2, "seen 0": True, "seen 1": True, "seen 2": True}
    assert found.started <= found.answers[0].started


def test_an_answer_that_breaks_in_a_session_is_raised_and_kept(store, answers):
    with pytest.raises(ZeroDivisionError), record("demo", store=store) as session, session.answer("1 / 0"):
        raise ZeroDivisionError
    assert answers()[0].error == "ZeroDivisionError"


def test_a_share_of_sessions_is_recorded_each_whole(store, kept):
    answer = record("demo", store=store)(lambda question: question)
    for number in range(200):
        with record("demo", session=number, sample=0.3, store=store):
            answer(number)
            answer(number)
    found = kept()
    assert 30 < len(found) < 90
    assert {len(session.answers) for session in found} == {2}


def test_recording_can_be_switched_off(store, monkeypatch):
    monkeypatch.setenv("EVALMARK_RECORD", "off")
    answer = record("demo", store=store)(lambda question: record.current().id and question)
    assert answer("Where?") == "Where?"
    assert flush(5)
    assert not store.exists()


def test_what_comes_too_fast_is_dropped_and_counted(store, kept):
    answer = record("demo", store=store)(lambda question: question)
    store.mkdir()  # nothing can be written there, for now
    with record("demo", store=store):
        for number in range(MAX_WAITING_SPANS + 25):
            answer(number)
        assert not flush(0.05)
        answer("one more")
    store.rmdir()
    (session,) = kept()
    assert (len(session.answers), session.dropped) == (MAX_WAITING_SPANS, 26)


def test_a_store_that_fails_is_one_line_in_the_log(store, answers, caplog):
    store.mkdir()
    answer = record("demo", store=store)(lambda question: question)
    with caplog.at_level(logging.INFO, "evalmark"):
        for number in range(5):
            assert answer(number) == number
            time.sleep(0.15)
        assert not flush(0.8)
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "this is a folder" in caplog.text
    store.rmdir()
    assert [span.input for span in answers()] == [0, 1, 2, 3, 4]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_nobody_may_write_to_is_a_line_in_the_log(world, caplog):
    (world / "locked").mkdir(mode=0o500)
    assert record("demo", store=world / "locked" / "x.db")(lambda question: question)("a") == "a"
    assert not flush(0.8)
    assert len(caplog.records) == 1
    (world / "locked").chmod(0o700)


def test_a_store_that_another_process_holds_is_written_once_it_is_free(store, answers):
    open_store(store).close()
    with closing(apsw.Connection(str(store))) as db:
        db.execute("begin immediate")
        record("demo", store=store)(lambda question: question)("Where?")
        assert not flush(0.5)
        db.execute("rollback")
    assert [span.input for span in answers()] == ["Where?"]


def test_a_store_that_was_moved_away_is_begun_anew(store, answers):
    answer = record("demo", store=store)(lambda question: question)
    answer("old")
    assert flush(5)
    store.rename(store.with_name("moved.db"))
    for end in ("-wal", "-shm"):
        store.with_name(store.name + end).unlink(missing_ok=True)
    answer("new")
    assert [span.input for span in answers()] == ["new"]


@pytest.mark.slow
def test_an_app_records_on_a_server_and_goes_on_when_its_connection_was_cut(on_a_server, world):
    import psycopg

    @record("demo", store=on_a_server)
    def answer(question):
        return f"{question}!"

    for number, question in enumerate(("Open?", "Now?"), 1):
        answer(question)
        assert flush(20)
        with open_store(on_a_server, read_only=True) as opened:
            assert len(opened.sessions.answers("demo")) == number
        with psycopg.connect(on_a_server.partition("?")[0], autocommit=True) as db:
            db.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'evalmark %'"
            )
    assert not (world / "postgresql:").exists()


def test_the_settings_say_where_it_is_kept(world, monkeypatch):
    monkeypatch.setenv("EVALMARK_STORE", str(world / "mine.db"))
    record("demo")(lambda question: question)("Where?")
    assert flush(5)
    with open_store(world / "mine.db", read_only=True) as opened:
        assert len(opened.sessions.answers("demo")) == 1


APP = """
import os, signal, sys, time
from evalmark import record
from evalmark.recording import flush

answer = record("demo", store=sys.argv[1])(lambda question: question)
if sys.argv[2] == "full":
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))  # a file that cannot grow is a disk that is full
    answer("x")
    assert flush(20)
    for number in range(30):
        answer("y" * 100_000)
        flush(0.2)
    raise SystemExit
for number in range(200):
    answer(number)
if sys.argv[2] == "killed":
    assert flush(20)
    for number in range(200):
        answer(number)
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "forked":
    child = os.fork()
    answer("child" if child == 0 else "parent")
    if child:
        assert os.waitpid(child, 0)[1] == 0
if sys.argv[2] == "failing":
    raise SystemExit("the app's own word")
"""


def app(store, how):
    # Python 3.12 and later warn of a fork in a process with threads, whatever the threads do.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", APP, str(store), how]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def recorded(store):
    with open_store(store, read_only=True) as opened:
        assert opened.check().sound
        return [span.input for span in opened.sessions.answers("demo")]


def test_the_end_of_the_process_waits_for_what_is_not_written(store):
    done = app(store, "ends")
    assert (done.returncode, done.stderr) == (0, "")
    assert recorded(store) == list(range(200))


def test_the_end_of_a_process_that_fails_does_too(store):
    done = app(store, "failing")
    assert (done.returncode, done.stderr) == (1, "the app's own word\n")
    assert len(recorded(store)) == 200


def test_what_was_written_survives_a_kill(store):
    assert app(store, "killed").returncode == -signal.SIGKILL
    assert recorded(store)[:200] == list(range(200))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_child_records_for_itself(store):
    done = app(store, "forked")
    assert (done.returncode, done.stderr) == (0, "")
    found = recorded(store)
    assert sorted(map(str, found)) == sorted([*map(str, range(200)), "child", "parent"])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="this system has no limit on the size of files")
def test_a_disk_that_is_full_keeps_what_it_has_and_the_app_goes_on(store):
    done = app(store, "full")
    assert (done.returncode, done.stderr.count("cannot be stored")) == (0, 1)
    assert recorded(store)[0] == "x"


@pytest.mark.slow
def test_the_end_does_not_wait_for_a_store_that_fails(store):
    store.mkdir()
    done = app(store, "ends")  # which has a minute, and the store fails for as long as anybody waits
    assert done.returncode == 0
    assert done.stderr.count("cannot be stored") == 1


def record_one(store):
    record("demo", store=store)(lambda question: question)(os.getpid())


PARENT = """
import multiprocessing, sys
from evalmark import record
from evalmark.recording import flush

answer = record("demo", store=sys.argv[1])(lambda question: question)
answer("parent")
assert flush(20)
process = multiprocessing.get_context("fork").Process(target=answer, args=("child",))
process.start()
process.join(60)
assert process.exitcode == 0
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no forks")
def test_a_child_of_multiprocessing_writes_before_it_ends(store):
    command = [sys.executable, "-c", PARENT, str(store)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert recorded(store) == ["parent", "child"]


def test_a_process_that_is_spawned_writes_before_it_ends(store):
    process = multiprocessing.get_context("spawn").Process(target=record_one, args=(store,))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert recorded(store) == [process.pid]


def test_a_thread_that_has_nothing_to_do_ends_and_lets_go_of_the_file(store, kept, monkeypatch):
    answer = record("demo", store=store)(lambda question: question)
    answer("first")
    assert flush(5)
    queue = queue_for(store)
    with queue._lock:
        assert queue.connections
    assert not queue.may_end() or queue._thread is None
    answer("second")
    assert sorted(s.answers[0].input for s in kept()) == ["first", "second"]
