"""The settings as the command line gives them."""

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.config.load import Loaded, load_settings
from contextfind.domain.errors import ConfigError

ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="ov.conf (default: ./ov.conf, ~/.contextfind/ov.conf, or none).",
    ),
]
DataDirectory = Annotated[
    str | None, typer.Option("--data", metavar="DIR", help="The data directory.")
]


def settings_from(config: str | None, overrides: Mapping[str, object]) -> Loaded:
    """Return the settings; options win over the environment, that over the file.

    Raises:
        Complaint: something in them is wrong.

    """
    try:
        return load_settings(config, os.environ, overrides)
    except ConfigError as error:
        raise Complaint(
            f"configuration: {error}; check it with: contextfind doctor",
            ExitCode.USAGE,
            error.code,
        ) from error
