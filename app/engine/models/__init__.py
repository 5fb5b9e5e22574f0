"""Language models: by name, over LiteLLM, with errors in plain words; and what there is to choose from."""
