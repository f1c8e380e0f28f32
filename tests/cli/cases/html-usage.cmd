# what a page cannot be of; what it takes without being told
try() { "$SCHED_RUN" "$@"; echo "$* : $?"; }
try -n -f html small.json small.json
try -f html --compare CPU small.json
try -f html --rules all small.json
"$SCHED_RUN" -n -q -f html --copies 1,2 -e probs -m --steps -l -o "$WORK/page.html" small.json
echo $?
grep -o '<script type="application/json" data-line="[a-z]*">' "$WORK/page.html"
