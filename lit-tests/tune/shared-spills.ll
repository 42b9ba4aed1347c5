; ptxas takes the mark, and spills to shared memory what it spilled to the stack before.

; REQUIRES: ptxas
; RUN: env LLVM_PTXAS_EXECUTABLE=%ptxas-path %oriel tune --sm 90 --ptx 87 --goal spills --tolerance 20 --shared-spills --oriel-only --random-orders 0 --no-cache %s | FileCheck %s
; CHECK: {{^k +32 +[0-9]+ -> [0-9]+ .*64$}}
; CHECK: flags: {{.*}}-oriel-spill-to-shared=on
; RUN: env LLVM_PTXAS_EXECUTABLE=%ptxas-path %oriel tune --sm 120 --goal spills --tolerance 20 --shared-spills --oriel-only --random-orders 0 --no-cache --json %s | FileCheck %s --check-prefix=SHARED
; SHARED: "before":{{{.*}}"shared_bytes":0,{{.*}}"after":{{{.*}}"shared_bytes":{{[1-9]}}

; Without ptxas nobody knows what it spills.
; RUN: env LLVM_PTXAS_EXECUTABLE=none not %oriel tune --sm 90 --ptx 87 --shared-spills %s 2>&1 | FileCheck %s --check-prefix=NOBODY
; NOBODY: only ptxas knows what it spills to shared memory

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p) "nvvm.maxntid"="128" "nvvm.maxnreg"="32" {
  %at0 = getelementptr i32, ptr addrspace(1) %p, i64 0
  %v0 = load volatile i32, ptr addrspace(1) %at0
  %at1 = getelementptr i32, ptr addrspace(1) %p, i64 512
  %v1 = load volatile i32, ptr addrspace(1) %at1
  %at2 = getelementptr i32, ptr addrspace(1) %p, i64 1024
  %v2 = load volatile i32, ptr addrspace(1) %at2
  %at3 = getelementptr i32, ptr addrspace(1) %p, i64 1536
  %v3 = load volatile i32, ptr addrspace(1) %at3
  %at4 = getelementptr i32, ptr addrspace(1) %p, i64 2048
  %v4 = load volatile i32, ptr addrspace(1) %at4
  %at5 = getelementptr i32, ptr addrspace(1) %p, i64 2560
  %v5 = load volatile i32, ptr addrspace(1) %at5
  %at6 = getelementptr i32, ptr addrspace(1) %p, i64 3072
  %v6 = load volatile i32, ptr addrspace(1) %at6
  %at7 = getelementptr i32, ptr addrspace(1) %p, i64 3584
  %v7 = load volatile i32, ptr addrspace(1) %at7
  %at8 = getelementptr i32, ptr addrspace(1) %p, i64 4096
  %v8 = load volatile i32, ptr addrspace(1) %at8
  %at9 = getelementptr i32, ptr addrspace(1) %p, i64 4608
  %v9 = load volatile i32, ptr addrspace(1) %at9
  %at10 = getelementptr i32, ptr addrspace(1) %p, i64 5120
  %v10 = load volatile i32, ptr addrspace(1) %at10
  %at11 = getelementptr i32, ptr addrspace(1) %p, i64 5632
  %v11 = load volatile i32, ptr addrspace(1) %at11
  %at12 = getelementptr i32, ptr addrspace(1) %p, i64 6144
  %v12 = load volatile i32, ptr addrspace(1) %at12
  %at13 = getelementptr i32, ptr addrspace(1) %p, i64 6656
  %v13 = load volatile i32, ptr addrspace(1) %at13
  %at14 = getelementptr i32, ptr addrspace(1) %p, i64 7168
  %v14 = load volatile i32, ptr addrspace(1) %at14
  %at15 = getelementptr i32, ptr addrspace(1) %p, i64 7680
  %v15 = load volatile i32, ptr addrspace(1) %at15
  %at16 = getelementptr i32, ptr addrspace(1) %p, i64 8192
  %v16 = load volatile i32, ptr addrspace(1) %at16
  %at17 = getelementptr i32, ptr addrspace(1) %p, i64 8704
  %v17 = load volatile i32, ptr addrspace(1) %at17
  %at18 = getelementptr i32, ptr addrspace(1) %p, i64 9216
  %v18 = load volatile i32, ptr addrspace(1) %at18
  %at19 = getelementptr i32, ptr addrspace(1) %p, i64 9728
  %v19 = load volatile i32, ptr addrspace(1) %at19
  %at20 = getelementptr i32, ptr addrspace(1) %p, i64 10240
  %v20 = load volatile i32, ptr addrspace(1) %at20
  %at21 = getelementptr i32, ptr addrspace(1) %p, i64 10752
  %v21 = load volatile i32, ptr addrspace(1) %at21
  %at22 = getelementptr i32, ptr addrspace(1) %p, i64 11264
  %v22 = load volatile i32, ptr addrspace(1) %at22
  %at23 = getelementptr i32, ptr addrspace(1) %p, i64 11776
  %v23 = load volatile i32, ptr addrspace(1) %at23
  %at24 = getelementptr i32, ptr addrspace(1) %p, i64 12288
  %v24 = load volatile i32, ptr addrspace(1) %at24
  %at25 = getelementptr i32, ptr addrspace(1) %p, i64 12800
  %v25 = load volatile i32, ptr addrspace(1) %at25
  %at26 = getelementptr i32, ptr addrspace(1) %p, i64 13312
  %v26 = load volatile i32, ptr addrspace(1) %at26
  %at27 = getelementptr i32, ptr addrspace(1) %p, i64 13824
  %v27 = load volatile i32, ptr addrspace(1) %at27
  %at28 = getelementptr i32, ptr addrspace(1) %p, i64 14336
  %v28 = load volatile i32, ptr addrspace(1) %at28
  %at29 = getelementptr i32, ptr addrspace(1) %p, i64 14848
  %v29 = load volatile i32, ptr addrspace(1) %at29
  %at30 = getelementptr i32, ptr addrspace(1) %p, i64 15360
  %v30 = load volatile i32, ptr addrspace(1) %at30
  %at31 = getelementptr i32, ptr addrspace(1) %p, i64 15872
  %v31 = load volatile i32, ptr addrspace(1) %at31
  %at32 = getelementptr i32, ptr addrspace(1) %p, i64 16384
  %v32 = load volatile i32, ptr addrspace(1) %at32
  %at33 = getelementptr i32, ptr addrspace(1) %p, i64 16896
  %v33 = load volatile i32, ptr addrspace(1) %at33
  %at34 = getelementptr i32, ptr addrspace(1) %p, i64 17408
  %v34 = load volatile i32, ptr addrspace(1) %at34
  %at35 = getelementptr i32, ptr addrspace(1) %p, i64 17920
  %v35 = load volatile i32, ptr addrspace(1) %at35
  %at36 = getelementptr i32, ptr addrspace(1) %p, i64 18432
  %v36 = load volatile i32, ptr addrspace(1) %at36
  %at37 = getelementptr i32, ptr addrspace(1) %p, i64 18944
  %v37 = load volatile i32, ptr addrspace(1) %at37
  %at38 = getelementptr i32, ptr addrspace(1) %p, i64 19456
  %v38 = load volatile i32, ptr addrspace(1) %at38
  %at39 = getelementptr i32, ptr addrspace(1) %p, i64 19968
  %v39 = load volatile i32, ptr addrspace(1) %at39
  %at40 = getelementptr i32, ptr addrspace(1) %p, i64 20480
  %v40 = load volatile i32, ptr addrspace(1) %at40
  %at41 = getelementptr i32, ptr addrspace(1) %p, i64 20992
  %v41 = load volatile i32, ptr addrspace(1) %at41
  %at42 = getelementptr i32, ptr addrspace(1) %p, i64 21504
  %v42 = load volatile i32, ptr addrspace(1) %at42
  %at43 = getelementptr i32, ptr addrspace(1) %p, i64 22016
  %v43 = load volatile i32, ptr addrspace(1) %at43
  %at44 = getelementptr i32, ptr addrspace(1) %p, i64 22528
  %v44 = load volatile i32, ptr addrspace(1) %at44
  %at45 = getelementptr i32, ptr addrspace(1) %p, i64 23040
  %v45 = load volatile i32, ptr addrspace(1) %at45
  %at46 = getelementptr i32, ptr addrspace(1) %p, i64 23552
  %v46 = load volatile i32, ptr addrspace(1) %at46
  %at47 = getelementptr i32, ptr addrspace(1) %p, i64 24064
  %v47 = load volatile i32, ptr addrspace(1) %at47
  call void @llvm.nvvm.barrier0()
  store volatile i32 %v0, ptr addrspace(1) %at47
  store volatile i32 %v1, ptr addrspace(1) %at46
  store volatile i32 %v2, ptr addrspace(1) %at45
  store volatile i32 %v3, ptr addrspace(1) %at44
  store volatile i32 %v4, ptr addrspace(1) %at43
  store volatile i32 %v5, ptr addrspace(1) %at42
  store volatile i32 %v6, ptr addrspace(1) %at41
  store volatile i32 %v7, ptr addrspace(1) %at40
  store volatile i32 %v8, ptr addrspace(1) %at39
  store volatile i32 %v9, ptr addrspace(1) %at38
  store volatile i32 %v10, ptr addrspace(1) %at37
  store volatile i32 %v11, ptr addrspace(1) %at36
  store volatile i32 %v12, ptr addrspace(1) %at35
  store volatile i32 %v13, ptr addrspace(1) %at34
  store volatile i32 %v14, ptr addrspace(1) %at33
  store volatile i32 %v15, ptr addrspace(1) %at32
  store volatile i32 %v16, ptr addrspace(1) %at31
  store volatile i32 %v17, ptr addrspace(1) %at30
  store volatile i32 %v18, ptr addrspace(1) %at29
  store volatile i32 %v19, ptr addrspace(1) %at28
  store volatile i32 %v20, ptr addrspace(1) %at27
  store volatile i32 %v21, ptr addrspace(1) %at26
  store volatile i32 %v22, ptr addrspace(1) %at25
  store volatile i32 %v23, ptr addrspace(1) %at24
  store volatile i32 %v24, ptr addrspace(1) %at23
  store volatile i32 %v25, ptr addrspace(1) %at22
  store volatile i32 %v26, ptr addrspace(1) %at21
  store volatile i32 %v27, ptr addrspace(1) %at20
  store volatile i32 %v28, ptr addrspace(1) %at19
  store volatile i32 %v29, ptr addrspace(1) %at18
  store volatile i32 %v30, ptr addrspace(1) %at17
  store volatile i32 %v31, ptr addrspace(1) %at16
  store volatile i32 %v32, ptr addrspace(1) %at15
  store volatile i32 %v33, ptr addrspace(1) %at14
  store volatile i32 %v34, ptr addrspace(1) %at13
  store volatile i32 %v35, ptr addrspace(1) %at12
  store volatile i32 %v36, ptr addrspace(1) %at11
  store volatile i32 %v37, ptr addrspace(1) %at10
  store volatile i32 %v38, ptr addrspace(1) %at9
  store volatile i32 %v39, ptr addrspace(1) %at8
  store volatile i32 %v40, ptr addrspace(1) %at7
  store volatile i32 %v41, ptr addrspace(1) %at6
  store volatile i32 %v42, ptr addrspace(1) %at5
  store volatile i32 %v43, ptr addrspace(1) %at4
  store volatile i32 %v44, ptr addrspace(1) %at3
  store volatile i32 %v45, ptr addrspace(1) %at2
  store volatile i32 %v46, ptr addrspace(1) %at1
  store volatile i32 %v47, ptr addrspace(1) %at0
  ret void
}
