"""Tests made of a prompt, stage by stage: what it is for, what may be put in, what has to come out, and what tempts it."""
