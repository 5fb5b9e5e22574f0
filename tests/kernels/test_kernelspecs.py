"""Kernelspecs read as files are those that jupyter_client finds."""

from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from oi_tui.app.engine.kernels.kernelspecs import read_kernelspecs
from oi_tui.app.engine.kernels.spec import LOCAL, label_of
from support.kernelspecs import install_kernelspec


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """Two folders of JUPYTER_PATH, and that of IPython."""
    monkeypatch.setenv("JUPYTER_PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}:{tmp_path / 'nowhere'}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "first", tmp_path / "second", tmp_path / "ipython"


def by_the_library() -> dict[str, str]:
    manager = KernelSpecManager()
    specs = manager.get_all_specs()
    labels = {label_of(name, folder): name for name, folder in manager.find_kernel_specs().items()}
    return {label: specs[name]["spec"]["language"] if name in specs else "" for label, name in labels.items() if label}


def test_what_is_read_is_what_the_library_finds(places: tuple[Path, Path, Path]) -> None:
    first, second, of_ipython = places
    install_kernelspec(first, "Julia", language="julia")
    install_kernelspec(second, "julia", language="another")
    install_kernelspec(second, "python3", language="python")
    install_kernelspec(second, "local", metadata={"kernel_provisioner": {"provisioner_name": LOCAL}})
    install_kernelspec(of_ipython, "old")
    install_kernelspec(first, "numbered", language=5)
    install_kernelspec(first, "broken")
    (first / "kernels" / "broken" / "kernel.json").write_text("{")
    (first / "kernels" / "empty").mkdir()
    found = read_kernelspecs()
    assert found == by_the_library()
    assert {"julia": "julia", "jupyter:python3": "python", "local": "local", "old": "old", "broken": ""}.items() <= (
        found or {}
    ).items()


def test_where_a_provisioner_starts_one_the_library_is_asked(places: tuple[Path, Path, Path]) -> None:
    install_kernelspec(places[0], "far", metadata={"kernel_provisioner": {"provisioner_name": "cluster"}})
    assert read_kernelspecs() is None
