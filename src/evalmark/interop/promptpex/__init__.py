"""Import a folder of PromptPex results as one run.

`importer` finds the files of the folder and makes the run. `trials` converts the rows of its tables to cases, trials and
scores.
"""
