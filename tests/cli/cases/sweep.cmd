"$SCHED_RUN" --sweep n_tokens=1..64*2,512 ../../../graphs/models/llama.json
"$SCHED_RUN" --sweep n_gpu0=2..6+2 --sweep n_tokens=4 --copies 1,2 --batches 3 -f json layers.json
"$SCHED_RUN" --sweep n=2 --sweep n_copies layers.json
"$SCHED_RUN" --sweep n_tokens=4,x layers.json
for values in 5..1 1..8*1 0..8*2 1..8+0 1..8- a..b 1.. ..3 1..20000; do "$SCHED_RUN" --sweep n_tokens=$values layers.json; done
"$SCHED_RUN" --sweep n_tokens=4 --max-split-inputs 1 layers.json
echo "status $?"
"$SCHED_RUN" --sweep n_tokens=4 --check layers.json
"$SCHED_RUN" --sweep n_tokens=4 -f dot layers.json
"$SCHED_RUN" --sweep n_tokens=1,8 ../../../graphs/models/flash-attention.json
"$SCHED_RUN" --sweep n_tokens=1,8 --sweep n_tokens=2 layers.json
"$SCHED_RUN" --sweep n_tokens=1,8 -p n_tokens=2 layers.json
