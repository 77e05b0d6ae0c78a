"""Names that may stand in a world."""

from __future__ import annotations

from pico_gz.errors import MessageError, WorldTemplateError
from pico_gz.messages.vehicle import check_name


def check_model_name(name: str) -> str:
    """Return ``name`` if it may name a model or a world.

    Raises:
        WorldTemplateError: it is no usable name, or SDF keeps it for itself.
    """
    try:
        check_name(name)
    except MessageError as error:
        raise WorldTemplateError(error.message, hint=error.hint) from error
    if name == "world" or (name.startswith("__") and name.endswith("__")):
        raise WorldTemplateError(
            f"{name!r} is a name that SDF keeps for itself.", hint="Choose another name."
        )
    return name
