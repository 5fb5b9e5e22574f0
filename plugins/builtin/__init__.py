"""Plugins that oi-tui brings: written as anybody's, with `oi_tui.plugins.api` alone; each can be disabled.

Nothing that protects the person is here. Each is imported with the other plugins of its process.
"""

BUILT_IN: dict[str, dict[str, str]] = {
    "engine": {
        "html": "oi_tui.plugins.builtin.page",
        "tqdm": "oi_tui.plugins.builtin.tqdm",  # before ipywidgets: it knows some of its boxes better
        "ipywidgets": "oi_tui.plugins.builtin.ipywidgets",
        "markdown": "oi_tui.plugins.builtin.markdown_file",
        "notebook": "oi_tui.plugins.builtin.notebook",
        "wordllama": "oi_tui.plugins.builtin.word_llama",
    },
    "screen": {
        "charts": "oi_tui.plugins.builtin.charts",
        "git_branch": "oi_tui.plugins.builtin.git_branch",
        "plotly": "oi_tui.plugins.builtin.plotly_figure",
    },
}
"""The process that imports it -> its name -> its module."""
