# Without a driver the device is missing, and it says why.
"$SCHED_RUN" devices | sed -n '/^opencl/{n;p}'
"$SCHED_RUN" -b ../../../graphs/machines/opencl.json values.json 2>"$WORK/message"
echo "status $?"
sed 's/; devices: .*//' "$WORK/message"
"$SCHED_RUN" -q -d 0 --simulate-missing -b ../../../graphs/machines/opencl.json values.json | head -n 1
