# nothing to import
cd ../../import
$SCHED_RUN import level-1.log; echo $?
$SCHED_RUN import wide.log --graph 3; echo $?
$SCHED_RUN import missing.log; echo $?
echo "main: build = 4711" | $SCHED_RUN import -; echo $?
$SCHED_RUN import; echo $?
# a description instead of a log, and a log instead of a description
$SCHED_RUN import ../../graphs/models/moe.json; echo $?
$SCHED_RUN wide.log; echo $?
$SCHED_RUN diff wide.log wide.log; echo $?
