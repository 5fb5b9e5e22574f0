"""Sessions as Jupyter notebooks, and notebooks as sessions."""

from oi_tui.plugins.api import Exporter, Importer, hookimpl

_HERE = "oi_tui.plugins.builtin"


@hookimpl
def register_exporters() -> list[Exporter]:
    """A notebook that can be run again; what writes it is imported for the first one."""
    write = f"{_HERE}.notebook_writing:write_notebook"
    return [Exporter(format="ipynb", title="Notebook", suffix=".ipynb", write=write)]


@hookimpl
def register_importers() -> list[Importer]:
    """Also notebooks with another ending: what is in the file decides."""
    read = f"{_HERE}.notebook_reading:read_notebook"
    return [Importer(format="ipynb", title="Notebook", suffixes=(".ipynb", ".json"), read=read)]
