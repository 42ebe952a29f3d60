"""``make prove``: the lab proves its own checks, one line of numbers for each property.

A property is a function from `lab.Lab` to `outcome.Outcome`; `table.PROPERTIES` names them all. To
add one, write such a function in a module of its own and add a line to the table: the runner gives
it a thread, catches its crashes and refuses to call it proved when it looked at nothing. Work that
takes time goes through ``lab.pool`` (`gradings.start_grading`, ``lab.start``), which holds as many
processes as ``JOBS`` says.
"""
