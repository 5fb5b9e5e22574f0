"""Environments of Python for tests, made quickly."""

import shutil
import sys
import sysconfig
import venv
from pathlib import Path


def make_environment(prefix: Path, *, pip: bool = False) -> None:
    """An environment of our version, perhaps with a copy of our own pip: `ensurepip` takes four seconds."""
    venv.create(prefix, symlinks=True)
    if not pip:
        return
    site = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for folder in Path(sysconfig.get_path("purelib")).glob("pip*"):
        if folder.name == "pip" or (folder.name.startswith("pip-") and folder.suffix == ".dist-info"):
            shutil.copytree(folder, site / folder.name)
    program = prefix / "bin" / "pip"
    program.write_text(
        f"#!{prefix}/bin/python\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
