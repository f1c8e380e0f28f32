# runs are matched by index; those of one side are named
printf "%s" "{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}],\"params\":{\"n\":4},\"tensors\":[{\"name\":\"x\",\"ne\":[\"n\"],\"flags\":[\"input\"]}],\"nodes\":[{\"name\":\"s\",\"op\":\"SQR\",\"src\":[\"x\"]}],\"runs\":[{},{\"params\":{\"n\":8}},{}]}" >"$WORK/three.json"
sed "s/,{\"params.*/]}/" "$WORK/three.json" >"$WORK/one.json"
cd "$WORK"
for f in text json dot; do "$SCHED_RUN" diff -f $f three.json one.json; echo "exit $?"; done
"$SCHED_RUN" diff one.json three.json; echo "exit $?"
