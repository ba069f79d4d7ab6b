"""Read cases from files and Python values.

`reader` chooses the format; `csv_rows`, `json_rows`, `yaml_rows` and `parquet_rows` yield rows; `case_builder` turns
rows into cases with the field names in `fields`. Faults name `file:line`, and a bad row does not stop the file.
"""
