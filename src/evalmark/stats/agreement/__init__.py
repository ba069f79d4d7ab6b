"""Agreement between judges and people, error rates of thresholds, and pass rates corrected for a judge's errors, on plain numbers.

`kappa_alpha` and `raters` measure agreement, `bias` measures position and length bias, `roc` and `threshold_learning`
find thresholds, `risk_bounds` bounds error rates, and `corrected_rates` corrects pass rates with few human labels.
"""
