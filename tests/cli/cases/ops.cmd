"$SCHED_RUN" ops >"$WORK/ops"
sed -n "1p; /^MUL_MAT /,/^OUT/p; /^VIEW/,/^PERM/p; /^UNARY/,/^MAP/p; \$p" "$WORK/ops" | sed -E "s/cpu( (blas|cuda|opencl))+ sim +/cpu sim                  /"
grep -c "^[A-Z]" "$WORK/ops"
