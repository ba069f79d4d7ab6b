"""Thresholds learned and judges audited: what is judged for it, and what people say of it in the store."""
