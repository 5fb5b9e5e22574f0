"""Language models: by name, over LiteLLM, with errors in plain words; and the models to choose from."""
