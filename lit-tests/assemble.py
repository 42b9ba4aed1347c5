"""Assembles PTX by ptxas and throws the result away: assemble.py PTXAS FILE

LLVM takes the lowest PTX version that an SM has; ptxas refuses in it what LLVM prints all the same (debug sections, 128-bit
registers). PTX is upward compatible, so ptxas gets it as a later version. Functions that are elsewhere stay undefined.
"""

import re
import subprocess
import sys
from pathlib import Path


def main():
    ptxas, file = sys.argv[1:]
    text, count = re.subn(r"^\.version \d+\.\d+$", ".version 8.6", Path(file).read_text(), flags=re.MULTILINE)
    if count != 1:
        sys.exit(f"{file}: {count} lines with a PTX version, not one")
    later = Path(f"{file}.later")
    later.write_text(text)
    sys.exit(subprocess.run([ptxas, "-arch=sm_80", "-c", "-o", "/dev/null", later], check=False).returncode)


if __name__ == "__main__":
    main()
