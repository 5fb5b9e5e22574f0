"""What code that runs here gets to see of our environment: everything but the keys; in a sandbox, what it needs."""

import os
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
"""What programs read, and what says nothing about the person; an allow list, as nobody knows all names of secrets."""

FAIL_FAST = {
    "PIP_RETRIES": "0",
    "PIP_DEFAULT_TIMEOUT": "2",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_OFFLINE": "1",
    "UV_HTTP_RETRIES": "0",
    "CONDA_OFFLINE": "true",
    "CONDA_REMOTE_MAX_RETRIES": "0",
    "MAMBA_OFFLINE": "true",
}
"""Without a network, pip tries each package five times more, with waits between."""

PROXY_PORT = 3128
"""On the loopback interface of a sandbox, which nobody else sees."""


def kernel_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables a kernel may have: without keys, and without marks of a Jupyter that we may run in."""
    given = {name: value for name, value in environ.items() if not is_credential(name, value)}
    given.pop("JPY_PARENT_PID", None)  # the kernel would end with a process that is not ours
    return given


def enclosed_environment(
    environ: Mapping[str, str],
    names: Iterable[str],
    home: Path,
    temporary: Path = Path("/tmp"),
    *,
    proxy: bool = False,
    offline: bool = False,
) -> dict[str, str]:
    """The variables in a sandbox: the usual ones, those of `names`, and where home, scratch files and the proxy are.
    Where it is `offline`, what installs packages gives up at once."""
    wanted = {*USUAL, *names}
    given = {
        name: value
        for name, value in environ.items()
        if (name in wanted or name.startswith("LC_")) and (name in names or not is_credential(name, value))
    }
    given = (FAIL_FAST if offline else {}) | given
    given |= {"PATH": given.get("PATH", os.defpath), "HOME": str(home), "TMPDIR": str(temporary)}
    if proxy:
        address = f"http://127.0.0.1:{PROXY_PORT}"
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            given |= {name: address, name.upper(): address}
        given |= {"no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"}
    return given
