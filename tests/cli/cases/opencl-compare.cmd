# A capture on the device and the CPU, node by node.
OCL_ICD_VENDORS=$VENDORS
"$SCHED_RUN" --compare OpenCL0,CPU -q -b ../../../graphs/machines/opencl.json values.json
echo "status $?"
