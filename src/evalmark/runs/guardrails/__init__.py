"""Quality control at run time: whether an answer is fit to be shown, and what to do where it is not."""
