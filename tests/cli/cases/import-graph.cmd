# one schedule of several; the backends left to the scheduler
cd ../../import
$SCHED_RUN import twice.log --graph 1 -q | grep -c '"graph"'
$SCHED_RUN import 2026-05.log --no-pins -q -o "$WORK/it.json"
$SCHED_RUN -n -d 1 "$WORK/it.json"
