# what diff refuses
cd ../../../graphs/teaching
try() { "$SCHED_RUN" diff "$@"; echo "exit $?"; }
try
try 3-best.json
try 3-best.json none.json
try none.json nothing.json
try a.json b.json c.json
try - -
try - --copies 1,2
try 3-best.json --copies 1,2,3
try 3-best.json --copies 1,x
try 3-best.json --copies 1,
try 3-best.json --rules 2024,all
try 3-best.json --rules 2024,2025-banana
try 3-best.json -p n=1,2
try 3-best.json --only-b -A nope=CPU
try 3-best.json -f html --copies 1,2
try 3-best.json --only-c
try 3-best.json --lint
echo "{" | "$SCHED_RUN" diff 3-best.json -; echo "exit $?"
