"""Prints a kernel of a number of loads and as many multiplications in LLVM IR, with debug information."""

import sys

count = int(sys.argv[1])
print("""target triple = "nvptx64-nvidia-cuda"
declare float @llvm.fma.f32(float, float, float)
define ptx_kernel void @large(ptr addrspace(1) %p) !dbg !4 {""")
for number in range(count):
    before = f"%sum{number - 1}" if number else "1.0"
    print(f"  %address{number} = getelementptr float, ptr addrspace(1) %p, i64 {number}")
    print(f"  %x{number} = load volatile float, ptr addrspace(1) %address{number}, !dbg !{10 + number}")
    print(f"  %sum{number} = call float @llvm.fma.f32(float %x{number}, float {before}, float %x{number // 7 * 7}), !dbg !{10 + number}")
    print(f"    #dbg_value(float %sum{number}, !6, !DIExpression(), !{10 + number})")
print(f"""  store volatile float %sum{count - 1}, ptr addrspace(1) %p
  ret void
}}
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!1}}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{{i32 2, !"Debug Info Version", i32 3}}
!2 = !DIFile(filename: "large.cu", directory: "/src")
!3 = !DISubroutineType(types: !{{}})
!4 = distinct !DISubprogram(name: "large", scope: !2, file: !2, line: 1, type: !3, unit: !0)
!5 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!6 = !DILocalVariable(name: "sum", scope: !4, file: !2, line: 1, type: !5)""")
for number in range(count):
    print(f"!{10 + number} = !DILocation(line: {2 + number}, scope: !4)")
