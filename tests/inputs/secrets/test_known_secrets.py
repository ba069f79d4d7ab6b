"""Known secrets are found in any spelling and in part, and nothing else is."""

import base64
import html
import json
import random
import string
from urllib.parse import quote

import pytest

from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.known_secrets import _normalized, _places, build_index, environment_secrets
from evalmark.inputs.secrets.masks import mask_secrets, mask_secrets_in_data

KEY = "sk-Qx7/tR+9vB=2mZ_k4Wn8-Lp0dHs6"


SPELLINGS = {
    "as it is": str,
    "slashes escaped": lambda key: key.replace("/", "\\/"),
    "twice escaped": lambda key: key.replace("/", "\\\\\\/"),
    "in JSON": lambda key: key.replace("=", "\\u003d").replace("+", "\\u002b"),
    "in JSON, in capitals": lambda key: key.replace("=", "\\u003D").replace("+", "\\u002B"),
    "in JSON in JSON": lambda key: key.replace("=", "\\\\u003d"),
    "all of it escaped": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "as bytes": lambda key: "".join(f"\\x{ord(c):02X}" for c in key),
    "in octal": lambda key: "".join(f"\\{ord(c):03o}" for c in key),
    "in braces": lambda key: "".join(f"\\u{{{ord(c):x}}}" for c in key),
    "in an address": lambda key: quote(key, safe=""),
    "in an address, in small letters": lambda key: quote(key, safe="").lower(),
    "twice in an address": lambda key: quote(quote(key, safe=""), safe=""),
    "in HTML": lambda key: html.escape(key).replace("+", "&plus;").replace("=", "&equals;").replace("/", "&sol;"),
    "as numbers in HTML": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "as hex numbers in HTML": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "in HTML in an address": lambda key: quote("".join(f"&#{ord(c)};" for c in key)),
    "in base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in base64 for addresses": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "in base64 behind a name": lambda key: base64.b64encode(f"ann:{key}".encode()).decode(),
    "in base64 behind two letters": lambda key: base64.b64encode(f"ab{key}!".encode()).decode(),
    "in hexadecimal": lambda key: key.encode().hex(),
    "in hexadecimal, in capitals": lambda key: key.encode().hex().upper(),
    "in small letters": str.lower,
    "in capitals": str.upper,
    "without the last character": lambda key: key[:-1],
    "without the first character": lambda key: key[1:],
    "twelve of it": lambda key: key[9:21],
    "twelve of it escaped": lambda key: "".join(f"\\u{ord(c):04x}" for c in key[3:15]),
    "over two lines": lambda key: f"{key[:11]}\n    {key[11:]}",
    "over two lines of JSON": lambda key: f"{key[:11]}\\n{key[11:]}",
    "letter by letter": " ".join,
    "with marks that nobody sees": "\u200b".join,
    "with quotes in it": lambda key: f'{key[:13]}" "{key[13:]}',
    "in full width": lambda key: "".join(chr(ord(c) + 0xFEE0) for c in key),
    "in full width, escaped": lambda key: "".join(f"\\u{ord(c) + 0xFEE0:04x}" for c in key),
    "in letters of mathematics": lambda key: "".join(chr(ord(c) + 0x1D3BF) if c.isupper() else c for c in key),
    "with another dash": lambda key: key.replace("-", "\u2011"),
    "in Markdown": lambda key: key.replace("_", "\\_").replace("-", "\\-"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_known_secret_is_found_in_any_spelling(name, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    spelled = SPELLINGS[name](KEY)
    for before, after in (("", ""), ("The key is ", ", they said."), ("\u00e9" * 7, " \\d 100% &c."), ("x", "y")):
        found = mask_secrets(f"{before}{spelled}{after}")
        assert MASK in found
        plain = _normalized(found.replace(MASK, "")).decode()
        left = _normalized(spelled).decode()
        assert all(left[at : at + 12] not in plain for at in range(len(left) - 11)), found
    assert mask_secrets(f"before {spelled} after").startswith("before ")
    assert mask_secrets(f"before {spelled} after").endswith(" after")


@pytest.mark.parametrize("piece", [KEY[:11], KEY[5:16], KEY[-11:]])
def test_eleven_characters_of_a_long_secret_stay(piece, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert mask_secrets(f"it begins with {piece}, they said") == f"it begins with {piece}, they said"


def test_a_secret_of_twelve_characters_is_found_without_its_last_one(monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "hunter2-xyz9")
    assert mask_secrets("it is hunter2-xyz, they said") == f"it is {MASK}, they said"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_TOKEN", "short-1"),
        ("API_TOKEN", "onlyletterswithoutanyothers"),
        ("TOKENIZERS_PARALLELISM", "true-or-false-1"),
        ("TOKENIZER_MODEL", "bert-base-uncased-2"),
        ("KEY_FILE", "/run/secrets/the-key-1"),
        ("SSH_AUTH_SOCK", "/run/user/1/ssh-12345/agent.1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ann/service-account-1.json"),
        ("TOKEN_URL", "https://login.example.com/oauth2/token"),
        ("OPENAI_KEY", "https://login.example.com/oauth2/v1"),
        ("KEYRING_BACKEND", "keyring.backends.null.Keyring1"),
        ("GIT_AUTHOR_NAME", "Ann B. Lee-Smith 3rd"),
        ("MONKEY_NAME", "a-monkey-called-7"),
        ("PWD", "/home/ann/work-2026"),
        ("PATH", "/usr/local/bin:/usr/bin"),
        ("HOME", "/home/ann-smith-1"),
    ],
)
def test_what_is_no_secret_stays(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    assert environment_secrets({name: value}) == []
    assert mask_secrets(f"It says {value} there.") == f"It says {value} there."


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("PGPASSWORD", "hunter2-hunter3", "hunter2-hunter3"),
        ("OPENAI_API_KEY", KEY, KEY),
        ("stripe_secret", KEY, KEY),
        ("MY_SERVICE_PAT", KEY, KEY),
        ("SENTRY_DSN", "https://0123456789abcdef@sentry.example/1", "0123456789abcdef"),
        ("DATABASE_URL", "postgresql://ann:hunter2-hunter3@db.example/evals", "hunter2-hunter3"),
        ("ANYTHING", "ghp_" + "aB3" * 12, "ghp_" + "aB3" * 12),
        ("GOOGLE_CREDENTIALS", json.dumps({"type": "service_account", "private_key": KEY * 2}), KEY * 2),
        (
            "AWS_SECRET_ACCESS_KEY",
            "/wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY12345678",
            "/wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY12345678",
        ),
    ],
)
def test_secrets_of_the_environment(name, value, secret):
    assert environment_secrets({name: value}) == [secret]


def test_fields_of_a_credential_that_are_no_secret_stay(monkeypatch):
    value = {"type": "service_account", "auth_uri": "https://accounts.google.com/o/oauth2/auth", "private_key": KEY}
    monkeypatch.setenv("GOOGLE_CREDENTIALS", json.dumps(value))
    assert mask_secrets(f"ask https://accounts.google.com/o/oauth2/auth with {KEY}") == (
        f"ask https://accounts.google.com/o/oauth2/auth with {MASK}"
    )


def test_what_anybody_knows_of_a_secret_stays(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-" + KEY)
    monkeypatch.setenv("DUMMY_KEY", "sk-" + "x" * 40)
    text = "Keys begin with sk-ant-api03-, and a placeholder is xxxxxxxxxxxxxxxxxxxx."
    assert mask_secrets(text) == text


def test_a_secret_that_a_target_sets_is_known_at_once(monkeypatch):
    assert mask_secrets(f"say {KEY}") == f"say {KEY}"
    monkeypatch.setenv("LATE_TOKEN", KEY)
    assert mask_secrets(f"say {KEY}") == f"say {MASK}"
    monkeypatch.delenv("LATE_TOKEN")
    assert mask_secrets(f"say {KEY}") == f"say {KEY}"


def test_long_texts_are_searched_to_their_end(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for filler in ("word \\n %20 &amp; ", KEY[:11] + " ", KEY[4:10] + "?", "\\u0041"):
        text = filler * (100_000 // len(filler))
        assert mask_secrets(f"{text}. {KEY}") == f"{text}. {MASK}"
        assert mask_secrets(text) == text


@pytest.mark.parametrize("seed", range(40))
def test_every_run_of_twelve_is_found_wherever_it_stands_and_the_rest_stays(seed):
    chance = random.Random(seed)  # noqa: S311  seeded
    letters = string.ascii_letters + string.digits + "+/=-_.~!"
    secret = "".join(chance.choices(letters, k=chance.randint(16, 60)))
    index = build_index([secret])
    noise = "abc def \u00e9\u4e2d%41&lt;\\n\\u0041 {}[]:,"
    start = chance.randint(0, len(secret) - 12)
    piece = secret[start : start + chance.randint(12, 40)]
    before, after = ("".join(chance.choices(noise, k=chance.randint(0, 50))) + ";" for _ in range(2))
    # what stands around may happen to go on as the secret does
    assert index.masked(f"{before}|{piece}|{after}").replace(" ", "") == f"{before}|{MASK}|{after}".replace(" ", "")
    assert index.masked(before + after) == before + after


@pytest.mark.parametrize("seed", range(20))
def test_the_places_of_a_plain_text_are_those_of_its_characters(seed):
    chance = random.Random(seed)  # noqa: S311  seeded
    pieces = [
        "a",
        "%41",
        "&#65;",
        "&amp;",
        "\\u0041",
        "\\\\n",
        "\\",
        "%",
        "&",
        "\u00e9",
        '"',
        " ",
        "%2541",
        "&amp;#65;",
        "\ud800",
        "\uff21",
        "\\uff3c",
        "\u2011",
    ]
    text = "".join(chance.choices(pieces, k=60))
    assert len(_places(text)) == len(_normalized(text))


def test_data_without_a_secret_is_itself(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    data = {"a": ["b", {"c": None, "d": 1.5}], "e": "password: tomorrow, token=tokenizer.next()"}
    assert mask_secrets_in_data(data) is data
    assert mask_secrets_in_data({KEY: [f"x {KEY}"]}) == {MASK: [f"x {MASK}"]}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cannot reach ann:hunter2@db.internal:5432", f"cannot reach ann:{MASK}@db.internal:5432"),
        ("OperationalError: user:password@host refused", f"OperationalError: user:{MASK}@host refused"),
        ("http://ann:hunter2@proxy.example:8080/", f"http://ann:{MASK}@proxy.example:8080/"),
        ("https://0123456789abcdef@sentry.example/1", f"https://{MASK}@sentry.example/1"),
        ("mail From:ann@example.com or mailto:ann.lee7@example.com", None),
        ("Contact:support7@example.com, sip:ann@host:5060", None),
        ("ssh://git@github.com/a/b and postgresql://ann@db/evals", None),
    ],
)
def test_user_and_password_before_a_host(text, left):
    assert mask_secrets(text) == (left or text)


@pytest.mark.parametrize(
    "text",
    [
        'client = OpenAI(api_key=os.environ["OPENAI_API_KEY"])',
        "api_key = settings.openai_api_key",
        "The secret: practise every day!",
        "password: ${DB_PASSWORD}",
        "export API_KEY=YOUR_API_KEY",
        "token=tokenizer.next_token()",
        "see https://maps.example/api?key=YOUR_API_KEY",
        "pip install sk-learn-contrib-something-long",
        '<div class="sk-toolbar__button--primary-active rk-table-of-contents-entry">',
        "password=********, and then password: \u2022\u2022\u2022\u2022\u2022\u2022\u2022\u2022",
        "It tests the basic functionality/requirements. Basic authentication failed.",
    ],
)
def test_what_looks_like_a_word_or_like_code_stays_in_what_an_app_says(text):
    assert mask_secrets(text, careful=True) == text
    assert mask_secrets_in_data([text]) == [text]
