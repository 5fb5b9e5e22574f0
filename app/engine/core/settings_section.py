"""What all sections of the settings are."""

import msgspec


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings file; an unknown key is an error that names it."""
