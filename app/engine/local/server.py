"""The process that runs an embedded model: llama.cpp's own OpenAI-compatible server, on a free loopback port.

Started by `service.py` as `python -m oi_tui.app.engine.local.server`; a process of its own because loading
weights holds the interpreter for seconds. Speaks on stdout: `READY URL`, or `MISSING` when xllamacpp is not
installed, `MISSING WHY` when it cannot be imported. Everything that native code says goes to stderr. Ends when its
stdin ends, that is with its parent.

    python -m oi_tui.app.engine.local.server --try     whether xllamacpp can be imported: `READY` or `MISSING ...`
"""

import argparse
import contextlib
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TextIO


def main() -> None:
    """Serve until stdin ends or a signal comes."""
    options = _options()
    speak = _keep_stdout_for_us()
    os.environ["OMP_WAIT_POLICY"] = "passive"  # spinning threads would halve the pace on a busy machine
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=_wait_for_parent, args=(ended,), daemon=True).start()
    _load_openmp()
    try:
        import xllamacpp  # optional, native
    except ImportError as error:  # not there, or a library of the system that it needs is not
        absent = isinstance(error, ModuleNotFoundError) and error.name == "xllamacpp"
        print("MISSING", *("" if absent else str(error)).split(), file=speak, flush=True)
        sys.exit(1)
    if options.trial:
        print("READY", file=speak, flush=True)
        return

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = options.context
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.use_jinja = True
    params.verbosity = 1
    params.offline = True
    params.ui = False
    # Other people on this machine, and web pages in a browser, can reach the port: nothing to read, nothing to lend.
    params.endpoint_slots = False
    params.cors_origins = ""
    params.cors_credentials = False
    # One conversation: its own slot is its cache; the default keeps up to 8 GB of old ones.
    params.cache_ram_mib = 0
    server = xllamacpp.Server(params)
    print("READY", server.listening_address, file=speak, flush=True)
    ended.wait()
    # Not sys.exit: the server's destructor would finish the answer that is under way.
    os._exit(0)


def _load_openmp() -> None:
    """The library that xllamacpp computes with and does not bring, from this environment, if it has one of its own:
    `.ci/openmp.sh` puts it there on a system without it. What is loaded by now need not be found."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(str(Path(sys.prefix, "lib", "libgomp.so.1")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--try", dest="trial", action="store_true")
    parser.add_argument("--model", default="")
    parser.add_argument("--alias", default="local")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=8192)
    return parser.parse_args()


def _keep_stdout_for_us() -> TextIO:
    """The real stdout; from now on native code that writes to stdout writes to stderr."""
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return ours


def _wait_for_parent(ended: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    ended.set()


if __name__ == "__main__":
    main()
