"""JSON and TOML text, metadata files and records: JSON objects with a digest, read into frozen dataclasses.

The fields of the dataclass are the schema: names, types and defaults. Its ``__post_init__`` checks ranges and raises
ValueError. A file with another digest, an unknown or missing field, or a value of another type is refused.
"""

from __future__ import annotations

import json
import math
import os
import stat
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, BinaryIO, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from treebank.base import VERSION
from treebank.base.arguments import nearest
from treebank.base.errors import SynparseError, placed
from treebank.base.files import digest_json, write_whole

# --- JSON and TOML text

MAX_TOML_BYTES = 1 << 14  # the largest file of synparse has 3,000 bytes


def json_text(value: Any, *, indent: int | None = None, compact: bool = False) -> str:
    """``value`` as JSON in one line, or indented. NaN and infinities become null. All other numbers are exact.

    ``compact``: without spaces between the values.
    A character that represents an invalid byte in the name of a file is written as an escape sequence.
    """
    separators = (",", ":") if compact else None
    try:
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that is not finite
        text = json.dumps(finite(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def parse_json(data: str | bytes) -> Any:
    """The value of JSON text. Raises ValueError for malformed text and for text that is nested too deeply."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def finite(value: Any) -> Any:
    """``value`` with infinities and NaN, which JSON lacks, replaced by None, also inside lists and dictionaries."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a TOML file. Raises SynparseError if it is missing, malformed or too large.

    The limit of `MAX_TOML_BYTES` is low because ``tomllib`` needs time and memory quadratic in the dots of a key.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_TOML_BYTES + 1)
        if len(data) > MAX_TOML_BYTES:
            raise SynparseError(f"{name}: more than {MAX_TOML_BYTES:,} bytes; leave out what is not a setting")
        return tomllib.loads(data.decode("utf-8"))
    except FileNotFoundError:
        raise SynparseError(f"{name}: there is no such file") from None
    except (ValueError, OSError, RecursionError) as error:
        raise SynparseError(f"{name}: not valid TOML ({one_line(error)})") from None


def has_nan(value: Any) -> bool:
    """Whether ``value`` contains NaN at any depth."""
    if isinstance(value, float):
        return math.isnan(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(map(has_nan, parts))


# --- metadata

MAX_BYTES = 1 << 26
MAX_INTEGER = 1 << 53  # greater whole numbers are not exact as floats
DIGEST = "sha256"  # the field of a metadata file with the digest of the other fields

Record = TypeVar("Record")


class MetadataError(SynparseError):
    """A metadata file, or a file that it describes, that is missing, damaged or of another format."""


@dataclass(frozen=True)
class FileFormat:
    """A format of metadata files. ``title`` says what such a file is, ``remedy`` what to do if it is not one."""

    number: int
    title: str
    remedy: str


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """``content`` as plain JSON values, with their digest."""
    plain = finite({key: value for key, value in content.items() if key != DIGEST})
    return {**plain, DIGEST: digest_json(plain)}


def unseal(content: Any) -> dict[str, Any]:
    """A sealed object without its digest. Raises ValueError if it is not an object or its digest differs."""
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    plain = {key: value for key, value in content.items() if key != DIGEST}
    if content.get(DIGEST) != digest_json(plain):
        raise ValueError("its content does not match its sha256")
    return plain


def write_metadata(path: str | os.PathLike[str], record: Any, file_format: FileFormat) -> None:
    """Write a dataclass as a metadata file, replacing the file as a whole."""
    write_whole(path, metadata_bytes(record, file_format))


def metadata_bytes(record: Any, file_format: FileFormat) -> bytes:
    """The content of the metadata file for a dataclass."""
    content = {"format": file_format.number, "synparse": VERSION, **encode(record)}
    return (json_text(seal(content), indent=1) + "\n").encode("utf-8")


def read_metadata(path: str | os.PathLike[str], record: type[Record], file_format: FileFormat) -> Record:
    """The dataclass in a metadata file. Raises MetadataError if the file is missing, damaged or of another format."""
    return parse_metadata(read_bounded(path, MAX_BYTES), record, file_format, name=os.fspath(path))


def parse_metadata(data: str | bytes, record: type[Record], file_format: FileFormat, *, name: str) -> Record:
    """The dataclass in the content of a metadata file called ``name``. Raises MetadataError as `read_metadata` does."""
    content = parse_sealed(data, file_format, name)
    try:
        return decode(record, {key: value for key, value in content.items() if key not in ("format", "synparse")})
    except ValueError as error:
        raise format_error(name, file_format, error) from None


def parse_sealed(data: str | bytes, file_format: FileFormat, name: str) -> dict[str, Any]:
    """The object in JSON text from the file ``name``, its format and its digest checked.

    Raises MetadataError as `read_metadata` does.
    """
    try:
        content = json.loads(data, parse_constant=_refuse_constant)
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        if content.get("format") != file_format.number:
            writer = abbreviate(content.get("synparse", "(unknown)")).strip("'\"")
            known = f"synparse {VERSION}, which reads format {file_format.number}"
            problem = f"format {abbreviate(content.get('format'))} is unknown to {known}"
            is_newer = isinstance(content.get("format"), int) and content["format"] > file_format.number
            remedy = "install a newer synparse" if is_newer else file_format.remedy
            raise MetadataError(f"{name}: {problem}; it was written by synparse {writer}; {remedy}")
        return unseal(content)
    except (ValueError, RecursionError) as error:
        raise format_error(name, file_format, error) from None


def format_error(name: str | os.PathLike[str], file_format: FileFormat, error: Exception) -> MetadataError:
    """The error for the file ``name`` that is not in the format, because of ``error``."""
    return MetadataError(f"{os.fspath(name)}: not {file_format.title} ({one_line(error)}); {file_format.remedy}")


def read_bounded(path: str | os.PathLike[str], limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises MetadataError if the file is missing, larger or not a regular file.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise MetadataError(f"{os.fspath(path)}: {size:,} bytes are more than such a file can have ({limit:,})")
        return stream.read(size)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading. Raises MetadataError if the file is missing or not a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise MetadataError(f"{os.fspath(path)}: this file is missing") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MetadataError(f"{os.fspath(path)}: not a regular file")
    return os.fdopen(descriptor, "rb")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def one_line(error: object) -> str:
    """The message of an error in one line of at most 200 characters."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + " …"


def abbreviate(value: object) -> str:
    """The ``repr`` of a value, cut after 40 characters."""
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"


def encode(record: Any) -> Any:
    """A dataclass as JSON values: an object without the fields that have their defaults, recursively."""
    if is_dataclass(record) and not isinstance(record, type):
        values = {field.name: getattr(record, field.name) for field in fields(record)}
        return {
            field.name: encode(values[field.name])
            for field in fields(record)
            if not field.init or values[field.name] != _default(field)
        }
    if isinstance(record, Mapping):
        return {key: encode(value) for key, value in record.items()}
    return [encode(value) for value in record] if isinstance(record, (list, tuple)) else record


def decode(record: type[Record], content: Any) -> Record:
    """The dataclass whose fields are in the object ``content``. Raises ValueError naming the field that is wrong."""
    if not isinstance(content, dict):
        raise ValueError(f"expected an object, not {abbreviate(content)}")
    schema = get_type_hints(record)
    for name in content:
        if name not in schema:
            raise ValueError(f"unknown field {abbreviate(name)}; {nearest(name, schema)}")
    required = [field.name for field in fields(record) if _default(field) is MISSING]  # type: ignore[arg-type]
    for name in required:
        if name not in content:
            raise ValueError(f"{name!r} is missing")
    return record(**{name: _decode(name, schema[name], value) for name, value in content.items()})


def _default(field: Field[Any]) -> Any:
    """The default of a field, or MISSING."""
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _decode(name: str, expected: Any, value: Any) -> Any:
    """``value`` as a value of the type ``expected``. Raises ValueError naming the field."""
    origin, arguments = get_origin(expected), get_args(expected)
    if expected is Any or (value is None and type(None) in arguments):
        return value
    if origin in (Union, types.UnionType):
        return _decode(name, next(type_ for type_ in arguments if type_ is not type(None)), value)
    if is_dataclass(expected):
        try:
            return decode(expected, value)  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if expected is float and value is None:  # JSON has no infinity
        return math.inf
    if expected is float and type(value) is int and abs(value) < MAX_INTEGER:
        return float(value)
    if origin is tuple and isinstance(value, list):
        return tuple(_decode(name, arguments[0], item) for item in value)
    if origin is dict and isinstance(value, dict):
        return {key: _decode(f"{name}.{key}", arguments[1], item) for key, item in value.items()}
    if (origin is Literal and value in arguments) or (isinstance(expected, type) and type(value) is expected):
        return value
    raise ValueError(f"{name!r} cannot be {abbreviate(value)}")


# --- records: append-only files of JSON lines, each with a digest, which survive a kill at any moment


def append_records(path: str | os.PathLike[str], records: Iterable[Any], *, synced: bool = True) -> None:
    """Append dataclasses to a file of records and, if ``synced``, wait until they are on the disk.

    Without ``synced``, the records survive a kill of the process, but perhaps not a power failure.
    """
    lines = [json.dumps(seal(encode(record)), ensure_ascii=True).encode("ascii") + b"\n" for record in records]
    if not lines:
        return
    with placed(path), open(path, "ab") as stream:
        stream.write(b"".join(lines))
        stream.flush()
        if synced:
            os.fsync(stream.fileno())


def read_records(path: str | os.PathLike[str], record: type[Record], *, remedy: str) -> list[Record]:
    """The records in a file, none if it does not exist. An incomplete last line is removed from the file.

    Raises SynparseError, with the ``remedy``, for a damaged line.
    """
    if not os.path.exists(path):
        return []
    with placed(path), open(path, "rb") as stream:
        content = stream.read()
    complete = content[: content.rfind(b"\n") + 1]
    records = []
    for number, line in enumerate(complete.splitlines(), 1):
        try:
            records.append(decode(record, unseal(json.loads(line))))
        except (ValueError, RecursionError) as error:
            problem = f"this line is damaged ({one_line(error)})"
            raise SynparseError(f"{os.fspath(path)}:{number}: {problem}; {remedy}") from None
    if len(complete) < len(content):
        os.truncate(path, len(complete))
    return records
