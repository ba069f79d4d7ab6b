"""The parts that all formats of other tools share.

An import collects cases, metrics, prompts and results in an `ImportBuilder`, which makes an `ImportResult`. An export
starts from an `ExportRun` and makes an `ExportResult`. `results` keeps what a format cannot express, so that an
exported run can be imported again without loss.
"""
