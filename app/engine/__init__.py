"""The headless engine: events, blocks, session loop, model, kernels. Never imports Textual or Rich."""
