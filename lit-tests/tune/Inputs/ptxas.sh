#!/bin/sh
# Stands for ptxas: fewer registers if there is a sum between the loads, fewer still with a limit; a failure if asked for by $REFUSE; and a
# line in $CALLS for each run.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 1.2, V1.2.3"
  exit
fi
[ -z "$CALLS" ] || echo run >>"$CALLS"
code=$(cat)
registers=20
if echo "$code" | grep -A1 -m1 ld.global | grep -q add.s32; then
  registers=18
  if [ -n "$REFUSE" ]; then
    echo "ptxas fatal   : no sums today" >&2
    exit 255
  fi
fi
case "$code" in *".maxnreg 16"*) registers=16 ;; esac
cat >&2 <<END
ptxas info    : Function properties for k
    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used $registers registers
END
# Any file of machine code will do.
cat /bin/sh
