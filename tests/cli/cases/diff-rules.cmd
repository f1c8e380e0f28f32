# the rules that let a split have more inputs: one side fails
cd ../../../graphs/reports
"$SCHED_RUN" diff llama.cpp-21730-too-many-split-inputs.json --rules 2024-06,latest
"$SCHED_RUN" diff -q llama.cpp-21730-too-many-split-inputs.json --max-split-inputs 30,4; echo "exit $?"
"$SCHED_RUN" diff llama.cpp-13386-op-offload-moe.json --only-b --no-op-offload --both -p n_tokens=64 2>&1 || echo "exit $?"
