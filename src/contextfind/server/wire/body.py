"""What all request bodies have in common."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from contextfind.domain.errors import InvalidArgumentError, InvalidUriError
from contextfind.domain.identity import Identity
from contextfind.domain.tags import parse_tags
from contextfind.domain.uri import Uri
from contextfind.server.envelope import header_list

_FOR_PEOPLE = ("title", "description", "default", "examples")
_PLACE = r"^viking://((resources|agent|user|~)(/.*)?)?$"
_BLANK = r"^\s*$"
_TAG = r"^[^=]*[^=\s][^=]*=[^=]*[^=\s][^=]*$"
_TELEMETRY = {
    "anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {"summary": {"type": "boolean"}},
            "additionalProperties": False,
        },
    ]
}
SHOWN = 100  # characters of a wrong value that a message repeats


class Body(BaseModel):
    """A JSON object: null counts as absent, unknown fields are kept aside and named."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def without_nulls(cls, data: object) -> object:
        """Drop every null: many clients send all fields they know."""
        if isinstance(data, Mapping):
            return {name: value for name, value in data.items() if value is not None}
        return data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the fields; null is as good as leaving an optional one out."""
        told = handler.resolve_ref_schema(handler(schema))
        needed = told.get("required", ())
        for name, field in told.get("properties", {}).items():
            if name not in needed:
                told["properties"][name] = _or_null(field)
        return told

    def ignored_header(self) -> dict[str, str]:
        """Return `X-Ignored-Fields` when the caller sent something that has no effect."""
        names = header_list(sorted(self.model_extra or {}))
        return {"X-Ignored-Fields": names} if names else {}


class Params(BaseModel):
    """Query parameters: an empty one counts as absent, unknown ones change nothing."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def without_blanks(cls, data: object) -> object:
        """Drop what was sent without a value."""
        if isinstance(data, Mapping):
            return {name: value for name, value in data.items() if value != ""}
        return data


def _or_null(field: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a field that may be null; what is for people stays outside."""
    kept = {name: told for name, told in field.items() if name in _FOR_PEOPLE}
    kind = {name: told for name, told in field.items() if name not in _FOR_PEOPLE}
    choices = kind["anyOf"] if set(kind) == {"anyOf"} else [kind]
    null = {"type": "null"}
    return {**kept, "anyOf": choices if null in choices else [*choices, null]}


def _no_flag(value: object) -> object:
    """Refuse true and false where a number is expected: JSON knows the difference."""
    if isinstance(value, bool):
        raise PydanticCustomError("number_type", "expected a number, not true or false")
    return value


def whole_characters(text: str) -> str:
    """Refuse half of a character: JSON can spell it, nothing can store it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "expected whole characters") from None
    return text


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _words(value: object) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    return [word for part in parts for word in _split(part)]


def _split(part: object) -> list[str]:
    if isinstance(part, int | float) and part == part // 1 and not isinstance(part, bool):
        return [str(int(part))]  # 2.0 is an integer, too
    if isinstance(part, str):
        return [word.strip() for word in part.split(",") if word.strip()]
    raise PydanticCustomError("words", "expected text, or a list of texts")


def words_among(known: Collection[str], expected: str) -> BeforeValidator:
    """Return a reader like that of `Words` which takes only known ones; a refusal says `expected`."""

    def read(value: object) -> list[str]:
        try:
            words = _words(value)
        except PydanticCustomError:
            raise PydanticCustomError("words", f"expected {expected}") from None
        if any(word not in known for word in words):
            raise PydanticCustomError("words", f"expected {expected}")
        return words

    return BeforeValidator(read)


def _summary(value: object) -> object:
    if isinstance(value, Mapping):
        asked = value.get("summary", True)
        if set(value) - {"summary"} or not isinstance(asked, bool):
            expected = "expected true, false or an object with the boolean 'summary' alone"
            raise PydanticCustomError("telemetry_type", expected)
        return asked
    return value


Text = Annotated[str, AfterValidator(whole_characters)]
NO_FLAG = BeforeValidator(
    _no_flag
)  # stands after the bounds of a number, or they are not described
# comma separated, a list, or a number: trimmed, without empty ones
Words = Annotated[
    list[Text], BeforeValidator(_words, json_schema_input_type=int | str | list[int | str])
]
# true, or {"summary": true}
Telemetry = Annotated[bool, BeforeValidator(_summary), WithJsonSchema(_TELEMETRY)]
# an address of the tree; that it is one is checked where the caller is known
Place = Annotated[Text, Field(json_schema_extra={"pattern": _PLACE})]
OptionalPlace = Annotated[Text, Field(json_schema_extra={"pattern": _BLANK + "|" + _PLACE})]
Places = Annotated[
    list[Text],
    BeforeValidator(_one_or_many, json_schema_input_type=OptionalPlace | list[OptionalPlace]),
]
# key=value; `parse_tags` reads them
Tag = Annotated[Text, Field(json_schema_extra={"pattern": _TAG})]
Tags = list[Tag]


def wrong(field: str, value: object, expected: str) -> InvalidArgumentError:
    """Return the error for a field: its name, its value, what was expected."""
    text = shown(value)
    return InvalidArgumentError(
        f"{field} is {text}; expected {expected}", {"field": field, "value": text}
    )


def shown(value: object) -> str:
    """Return a value the way messages repeat it, cut where it is long."""
    text = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def address(field: str, text: str, identity: Identity) -> Uri:
    """Return the address in a field; `~` is the caller's own tree.

    Raises:
        InvalidUriError: it is none.

    """
    try:
        return Uri.parse(text, identity.user)
    except InvalidUriError as error:
        raise InvalidUriError(f"{field}: {error}", {"field": field, **error.details}) from None


def optional_address(field: str, text: str, identity: Identity) -> Uri | None:
    """Return the address in a field, None when the field is blank."""
    return address(field, text, identity) if text.strip() else None


def optional_tags(tags: list[str] | None) -> tuple[str, ...] | None:
    """Return parsed tags; None (not sent) leaves the tags of what is there as they are."""
    return None if tags is None else parse_tags(tags)
