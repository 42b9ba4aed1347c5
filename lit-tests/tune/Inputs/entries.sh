#!/bin/sh
# Stands for ptxas: each kernel has fewer registers if there is a sum between its loads. $CALLS gets the kernels of each run, a line a run.
# The kernel $REFUSE is refused without others.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 1.2, V1.2.3"
  exit
fi
awk -v calls="$CALLS" -v refused="$REFUSE" '
  function finish() {
    if (name == "") return
    printf "ptxas info    : Function properties for %s\n", name
    print "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    printf "ptxas info    : Used %d registers\n", registers
    names = names (names == "" ? "" : " ") name
    name = ""
  }
  /\.entry/ { finish(); name = $0; sub(/.*\.entry /, "", name); sub(/\(.*/, "", name); registers = 20; loads = 0 }
  /ld\.global/ { loads++ }
  /add\.s32/ && loads == 1 { registers = 18 }
  END { finish(); if (calls != "") print names >>calls; if (refused != "" && names == refused) exit 255 }
' >&2 || exit
# Any file of machine code will do.
cat /bin/sh
