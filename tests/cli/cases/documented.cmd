# every option of the help stands in the manual and in the completion, and every command
for o in $("$SCHED_RUN" help run | grep -o "^ .*--[a-z-]*" | sed "s/.*--//"); do
    grep -q -- "--$o\b" ../../../docs/completion/sched-run.bash || echo "completion lacks --$o"
    sed "s/\\\\-/-/g" ../../../docs/man/sched-run.1 | grep -q -- "--$o\b" || echo "manual lacks --$o"
done
for c in $("$SCHED_RUN" help | sed -n "/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p"); do
    grep -q "\b$c\b" ../../../docs/completion/sched-run.bash || echo "completion lacks $c"
    grep -q "^.B $c$" ../../../docs/man/sched-run.1 || echo "manual lacks $c"
done
