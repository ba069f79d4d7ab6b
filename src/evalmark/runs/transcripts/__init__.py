"""What an agent said and did, out of the forms in which frameworks keep it; none of them is imported."""
