"""The search index in this process: write-once segments of rows in tree order.

`index` is the door; `segment` says how rows lie, `building` and `merging` make them, `mask` and
`reach` choose records, `words`, `meaning` and `graph` score them, `planner` decides how, `answer`
puts a probe's hits together, `shelf` keeps segments on disk.
"""
