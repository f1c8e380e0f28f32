
try() { "$SCHED_RUN" "$@"; echo "$* : $?"; }
try
try --bakends x small.json
try --frobnicate
try --p=x small.json
try -z small.json
try -n --format
try -n -f
try --check=yes small.json
try -f txt small.json
try -f zzz small.json
try -d 3 small.json
try --copies 0 small.json
try --copies 4x small.json
try --color sometimes small.json
try --compute -n small.json
try --history help
try expnad small.json
try expand
try expand small.json values.json
try expand -n small.json
try devices small.json
try help rnu
try help run expand
try --unfold small.json
try --trace - small.json
try --trace "$WORK/one" -o "$WORK/one" small.json 2>&1 | sed "s|$WORK|WORK|g"
try --estimate --check-outputs small.json
try -n -p n_tokens=1e30 layers.json
