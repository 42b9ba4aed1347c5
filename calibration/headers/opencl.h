// Included first into each OpenCL file of the corpus: subgroups are warps, which clang and libclc have no functions for.
#define ORIEL_OVERLOADED __attribute__((overloadable, always_inline))
#define ORIEL_ALL_LANES 0xffffffff

static uint ORIEL_OVERLOADED get_sub_group_size(void) { return 32; }
static uint ORIEL_OVERLOADED get_max_sub_group_size(void) { return 32; }
static uint ORIEL_OVERLOADED get_sub_group_local_id(void) { return __nvvm_read_ptx_sreg_laneid(); }
static uint ORIEL_OVERLOADED get_sub_group_id(void) { return get_local_id(0) / 32; }
static uint ORIEL_OVERLOADED get_num_sub_groups(void) { return (get_local_size(0) + 31) / 32; }
static void ORIEL_OVERLOADED sub_group_barrier(uint flags) { __nvvm_bar_warp_sync(ORIEL_ALL_LANES); }

#define ORIEL_SHUFFLES(type, shuffled, suffix) \
    static type ORIEL_OVERLOADED sub_group_broadcast(type x, uint lane) { \
        return (type)__nvvm_shfl_sync_idx_##suffix(ORIEL_ALL_LANES, (shuffled)x, lane, 31); \
    } \
    static type ORIEL_OVERLOADED sub_group_shuffle(type x, uint lane) { return sub_group_broadcast(x, lane); } \
    static type ORIEL_OVERLOADED sub_group_shuffle_xor(type x, uint mask) { \
        return (type)__nvvm_shfl_sync_bfly_##suffix(ORIEL_ALL_LANES, (shuffled)x, mask, 31); \
    } \
    static type ORIEL_OVERLOADED sub_group_reduce_add(type x) { \
        for (uint mask = 16; mask > 0; mask /= 2) \
            x += sub_group_shuffle_xor(x, mask); \
        return x; \
    } \
    static type ORIEL_OVERLOADED sub_group_reduce_max(type x) { \
        for (uint mask = 16; mask > 0; mask /= 2) { \
            type other = sub_group_shuffle_xor(x, mask); \
            x = x > other ? x : other; \
        } \
        return x; \
    }
ORIEL_SHUFFLES(int, int, i32)
ORIEL_SHUFFLES(uint, int, i32)
ORIEL_SHUFFLES(float, float, f32)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
ORIEL_SHUFFLES(half, float, f32)
#undef ORIEL_SHUFFLES

// Functions that libclc doesn't have for NVPTX. The corpus is for launches without an offset.
#define get_global_offset(dimension) 0
#define get_enqueued_local_size(dimension) get_local_size(dimension)
#define mad_hi(a, b, c) (mul_hi(a, b) + (c))
