"""Kernelspecs for tests, in a folder that `JUPYTER_PATH` names."""

import json
import sys
from pathlib import Path
from typing import Any

CALM_KERNEL = """
from ipykernel.kernelbase import Kernel
from ipykernel.kernelapp import IPKernelApp

class CalmKernel(Kernel):
    implementation, implementation_version, banner = "calm", "1", "calm"
    language_info = {"name": "python", "mimetype": "text/plain", "file_extension": ".txt"}

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **more):
        if "oi" in code:
            self.send_response(self.iopub_socket, "stream", {"name": "stderr", "text": "what is this?"})
        if not silent:
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": f"said {code}"})
        return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}

IPKernelApp.launch_instance(kernel_class=CalmKernel)
"""
"""A kernel that says it speaks Python, is not IPython's, and complains about what it was not asked for."""

PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
CALM = (sys.executable, "-c", CALM_KERNEL, "-f", "{connection_file}")


def install_kernelspec(folder: Path, name: str, argv: tuple[str, ...] = PYTHON, **more: Any) -> None:
    """Put one into the folder, which is where `JUPYTER_PATH` points."""
    place = folder / "kernels" / name
    place.mkdir(parents=True)
    spec = {"argv": argv, "display_name": name, "language": name} | more
    (place / "kernel.json").write_text(json.dumps(spec))
