"""Quality control at run time: whether an answer is fit to be shown."""

from evalmark.scorers.answer_quality import Rules

from .assess import Assessment, assess_answer

__all__ = ["Assessment", "Rules", "assess_answer"]
