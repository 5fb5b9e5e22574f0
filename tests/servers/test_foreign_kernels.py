"""Kernels and libraries as people have them: xeus-python, bash_kernel, bokeh, altair, tqdm.notebook, ipywidgets."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from conftest import SERVERS

from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded, OutputAdded, OutputUpdated
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.environments.discovery import usable_environment
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.text.mime import readable
from support.kernelspecs import install_kernelspec
from support.runs import collect
