"""Which variables code in a sandbox gets: an allow list, because nobody knows all names of secrets."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from oi_tui.app.engine.secrets.environment import is_credential

USUAL = frozenset(
    {
        *("PATH", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "USER", "LOGNAME"),
        *("SHELL", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "MPLBACKEND", "SOURCE_DATE_EPOCH"),
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
        *("PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONWARNINGS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("JULIA_NUM_THREADS", "R_LIBS_USER", "JAVA_HOME", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "NIX_LD"),
    }
)
"""What programs read, and what says nothing about the person."""

PROXY_PORT = 3128
"""On the loopback interface of a sandbox, which nobody else sees."""


def enclosed_environment(
    environ: Mapping[str, str], names: Iterable[str], home: Path, *, proxy: bool
) -> dict[str, str]:
    """The variables in a sandbox: the usual ones, those of `names`, and where the home and the proxy are."""
    wanted = {*USUAL, *names}
    given = {
        name: value
        for name, value in environ.items()
        if (name in wanted or name.startswith("LC_")) and (name in names or not is_credential(name, value))
    }
    folders = [str(Path(sys.executable).parent), *given.get("PATH", os.defpath).split(os.pathsep)]
    given |= {"PATH": os.pathsep.join(dict.fromkeys(folders)), "HOME": str(home), "TMPDIR": "/tmp"}
    if proxy:
        address = f"http://127.0.0.1:{PROXY_PORT}"
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            given |= {name: address, name.upper(): address}
        given |= {"no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"}
    return given
