"""Import and export OpenAI evals: those of the API, which Microsoft Foundry has too, and those of the openai/evals registry."""
