"""Record the answers of an app with little overhead in the thread of the app.

`record.record` opens spans; ended spans are copied (`copies`) and put into the queue of their store (`span_queue`,
`queue_registry`). A thread (`writer`) converts them (`span_values`) and writes them to the store in batches. The public names
are in `evalmark.recording`.
"""
