"""Convert results of agent frameworks to outputs with transcripts, without importing the frameworks."""
