"""Parses the address of a store on a PostgreSQL server, and formats it without user, password and options."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from evalmark.core.errors import ConfigError

SCHEMES = ("postgresql", "postgres")
SCHEMA = "evalmark"
"""The schema of the tables unless the address names another one."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_ADDRESS = re.compile(
    r"""
    postgres(ql)?://
    ([^@/?\#\s]*@)?                     # user and password
    [^@/?\#\s:,\[\]]*(\[[0-9a-fA-F:.%]*\])?(:[0-9]*)?                           # a host and its port
    (,[^@/?\#\s:,\[\]]*(\[[0-9a-fA-F:.%]*\])?(:[0-9]*)?)*                       # further ones
    (/[^@/?\#\s]*)?                     # the database
    (\?[^@?\#\s]*)?
    """,
    re.VERBOSE,
)
"""Accepts only addresses with one possible reading, so that part of a password is never shown as a host."""


@dataclass(frozen=True, slots=True)
class ServerLocation:
    """The location of a store on a server."""

    url: str = field(repr=False)
    """As the user wrote it, without the schema; may hold a password."""
    schema: str
    folder: Path
    """The local folder for notes of requests in flight."""

    def __str__(self) -> str:
        """Return the address without user, password and options."""
        parts = urlsplit(self.url)
        named = f"?schema={self.schema}" if self.schema != SCHEMA else ""
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{named}"

    @property
    def name(self) -> str:
        """The base name of local files of this store, and its title."""
        return re.sub(r"[^A-Za-z0-9.-]+", "-", str(self))

    @property
    def parent(self) -> Path:
        """The local folder of these files."""
        return self.folder

    def with_name(self, name: str) -> Path:
        """Return the path of a local file of this store."""
        return self.folder / name


def is_address(location: str) -> bool:
    """Return whether a location is an address and not a file.

    >>> is_address("postgresql://db/evals"), is_address(".evalmark/evalmark.db")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", location) is not None


def without_password(text: str) -> str:
    """Remove passwords from the addresses in a text.

    >>> without_password("--store=postgresql://ann:secret@db/evals?schema=a&password=secret")
    '--store=postgresql://ann@db/evals?schema=a'
    """
    text = re.sub(r"(postgres(?:ql)?://[^:/@\s]*):\S*@", r"\1@", text)
    return re.sub(r"(?<=[?&])password=[^&\s]*&|[?&]password=[^&\s]*", "", text) if "://" in text else text


def parse_server_address(address: str, folder: Path) -> ServerLocation:
    """Parse the address of a server.

    Raises:
        ConfigError: it is not an address of a PostgreSQL server, cannot be parsed, or contains an invalid schema.
    """
    scheme = address.partition("://")[0]
    if scheme not in SCHEMES:
        raise ConfigError(
            f"--store: a store cannot be at an address that begins with {scheme}://; name a file, or an address that "
            "begins with postgresql://."
        )
    if not _ADDRESS.fullmatch(address):
        raise ConfigError(
            "--store: this address cannot be read; it has the form postgresql://USER@HOST:PORT/DATABASE?schema=NAME, and "
            "in a user or a password each of : / ? # @ % and a space is written as %3A %2F %3F %23 %40 %25 %20."
        )
    parts = urlsplit(address)
    options = parse_qsl(parts.query, keep_blank_values=True)
    schema = next((value for name, value in options if name == "schema"), SCHEMA)
    if not _NAME.fullmatch(schema) or schema.lower() != schema or schema.startswith("pg_"):
        raise ConfigError(
            f"--store: the schema {schema!r} must consist of lower-case letters, digits and _, and not begin with pg_."
        )
    rest = urlencode([(name, value) for name, value in options if name != "schema"])
    return ServerLocation(url=urlunsplit(parts._replace(query=rest)), schema=schema, folder=folder)
