"""Reports: functions from a run to the text of a file. They open no file, read no store and print nothing."""
