"""What all sections of ov.conf are made of."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]

OPENAI = "https://api.openai.com/v1"  # where a model is asked that has no address of its own


def secret(description: str) -> Any:
    """Return a field whose value is never shown."""
    return Field(
        default="", description=description, repr=False, json_schema_extra={"secret": True}
    )


class Section(BaseModel):
    """One object of ov.conf; keys that are not listed are refused before they get here."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
