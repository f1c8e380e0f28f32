# the description of a log, and the messages about it
cd ../../import
$SCHED_RUN import 2025-07.log
