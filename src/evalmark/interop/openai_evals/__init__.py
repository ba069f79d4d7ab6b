"""Evals of OpenAI: the API that Microsoft Foundry speaks too, and the registry of the open-source openai/evals."""
