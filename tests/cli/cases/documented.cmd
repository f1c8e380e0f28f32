# every option of the help stands in the manual and in the completion, and every command
for o in $({ "$SCHED_RUN" help run; "$SCHED_RUN" help diff; } | grep -o "^ .*--[a-z-]*" | sed "s/.*--//"); do
    grep -q -- "--$o\b" ../../../docs/completion/sched-run.bash || echo "completion lacks --$o"
    sed "s/\\\\-/-/g" ../../../docs/man/sched-run.1 | grep -q -- "--$o\b" || echo "manual lacks --$o"
done
for c in $("$SCHED_RUN" help | sed -n "/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p"); do
    grep -q "\b$c\b" ../../../docs/completion/sched-run.bash || echo "completion lacks $c"
    grep -q "^.B $c$" ../../../docs/man/sched-run.1 || echo "manual lacks $c"
done
# every kind of finding has a section in docs/lints.md, is offered by the completion and named by the schema
for k in $("$SCHED_RUN" --fail-on help | sed -n "/^$/q;s/ .*//p"); do
    grep -q "^## $k$" ../../../docs/lints.md || echo "docs/lints.md lacks $k"
    grep -q "^| \[$k\](#$k)" ../../../docs/lints.md || echo "the table of docs/lints.md lacks $k"
    grep -q "[ \"]$k\b" ../../../docs/completion/sched-run.bash || echo "completion lacks $k"
    grep -q "\"$k\"" ../../../docs/schema/report.schema.json || echo "schema lacks $k"
done
# the reports that docs/lints.md shows are there
for f in $(grep -o "graphs/reports/[^)]*json" ../../../docs/lints.md); do
    [ -f "../../../$f" ] || echo "there is no $f"
done
