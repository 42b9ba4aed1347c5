"""The driver of a GPU, for time_on_gpu.py: memory for a kernel's arguments, launches, times; each process has a context of its own."""

import ctypes
import json
import select
import subprocess

BUFFER_BYTES = 256 << 20
# Kernels may index from below the address that they get.
BEFORE = 64 << 20
MOST_POINTERS = 24
# What the buffers are filled with: integers from 0 to 63; numbers from 1 to 2, as floats and as halves.
FILLS = ("integers", "numbers")
# The driver's number of the attribute that allows a kernel more than 48 KB.
MOST_DYNAMIC_SHARED = 8

# A kernel that fills memory in one of the ways of FILLS, and one that adds up its words, each mixed with its place.
HELPERS = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 at, .param .u64 words, .param .u32 kind)
{
    .reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %d<8>;
    ld.param.u64 %d1, [at]; ld.param.u64 %d2, [words]; ld.param.u32 %r1, [kind];
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mov.u32 %r6, %nctaid.x;
    mad.lo.u32 %r7, %r3, %r4, %r5; mul.lo.u32 %r8, %r4, %r6; cvt.u64.u32 %d3, %r7; cvt.u64.u32 %d4, %r8;
    setp.ne.u32 %p2, %r1, 0;
loop:
    setp.ge.u64 %p1, %d3, %d2; @%p1 bra done;
    cvt.u32.u64 %r9, %d3; add.u32 %r9, %r9, 1; mul.lo.u32 %r9, %r9, 0x9e3779b1; shr.u32 %r10, %r9, 15; xor.b32 %r9, %r9, %r10;
    mul.lo.u32 %r9, %r9, 0x85ebca77; shr.u32 %r10, %r9, 13; xor.b32 %r9, %r9, %r10;
    and.b32 %r11, %r9, 63; and.b32 %r12, %r9, 0x007f00ff; or.b32 %r12, %r12, 0x3f803c00; selp.b32 %r13, %r12, %r11, %p2;
    shl.b64 %d5, %d3, 2; add.u64 %d5, %d5, %d1; st.global.u32 [%d5], %r13; add.u64 %d3, %d3, %d4; bra loop;
done:
    ret;
}
.visible .entry sum(.param .u64 at, .param .u64 words, .param .u64 result)
{
    .reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %d<16>;
    ld.param.u64 %d1, [at]; ld.param.u64 %d2, [words]; ld.param.u64 %d6, [result];
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mov.u32 %r6, %nctaid.x;
    mad.lo.u32 %r7, %r3, %r4, %r5; mul.lo.u32 %r8, %r4, %r6; cvt.u64.u32 %d3, %r7; cvt.u64.u32 %d4, %r8; mov.u64 %d7, 0;
loop:
    setp.ge.u64 %p1, %d3, %d2; @%p1 bra done;
    shl.b64 %d5, %d3, 2; add.u64 %d5, %d5, %d1; ld.global.u32 %r9, [%d5]; cvt.u64.u32 %d8, %r9;
    mad.lo.u64 %d8, %d3, 0x9e3779b97f4a7c15, %d8; shr.u64 %d9, %d8, 29; xor.b64 %d8, %d8, %d9;
    mul.lo.u64 %d8, %d8, 0xbf58476d1ce4e5b9; shr.u64 %d9, %d8, 32; xor.b64 %d8, %d8, %d9;
    add.u64 %d7, %d7, %d8; add.u64 %d3, %d3, %d4; bra loop;
done:
    atom.global.add.u64 %d10, [%d6], %d7;
    ret;
}
"""


def pointers_of(parameters):
    """How many pointers the parameters have."""
    of_structs = sum(pointer for taken in parameters if isinstance(taken, dict) for _, _, pointer in taken["fields"])
    return parameters.count("pointer") + of_structs


class Gpu:
    """A context of the driver, with a buffer for each pointer. `running` is the way that runs, for messages."""

    def __init__(self, folder):
        self.folder, self.running = folder, "llc"
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.arena, self.result = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.arena), ctypes.c_size_t(BUFFER_BYTES * MOST_POINTERS))
        self.call("cuMemAlloc_v2", ctypes.byref(self.result), ctypes.c_size_t(8))
        self.begin, self.end = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self.begin, self.end):
            self.call("cuEventCreate", ctypes.byref(event), 0)
        helpers = self.module(HELPERS.encode() + b"\0")
        self.fill, self.sum = self.function(helpers, "fill"), self.function(helpers, "sum")

    def call(self, name, *parameters):
        if status := getattr(self.driver, name)(*parameters):
            raise RuntimeError(f"{name}: {status}")

    def module(self, image):
        loaded = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(loaded), image)
        return loaded

    def function(self, module, name):
        found = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        return found

    def launch(self, function, grid, block, values, shared=0):
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        self.call("cuLaunchKernel", function, *grid, *block, shared, None, pointers, None)

    def wait(self):
        self.call("cuCtxSynchronize")

    def begin_from(self, pointers, fill):
        """Fills the buffers."""
        words = ctypes.c_uint64(BUFFER_BYTES // 4 * pointers)
        values = [self.arena, words, ctypes.c_uint32(FILLS.index(fill))]
        self.launch(self.fill, (2112, 1, 1), (256, 1, 1), values)

    def checksum(self, pointers):
        """The sum of the buffers' words, each mixed with its place."""
        self.call("cuMemsetD8_v2", self.result, ctypes.c_ubyte(0), ctypes.c_size_t(8))
        words = ctypes.c_uint64(BUFFER_BYTES // 4 * pointers)
        self.launch(self.sum, (2112, 1, 1), (256, 1, 1), [self.arena, words, self.result])
        found = ctypes.c_uint64()
        self.call("cuMemcpyDtoH_v2", ctypes.byref(found), self.result, ctypes.c_size_t(8))
        return found.value

    def values(self, job, integer):
        """The arguments of a kernel."""
        kinds = {"u64": ctypes.c_uint64, "s64": ctypes.c_int64, "b64": ctypes.c_uint64, "f64": ctypes.c_double, "f32": ctypes.c_float}
        kinds |= {"u16": ctypes.c_uint16, "b16": ctypes.c_uint16, "u8": ctypes.c_uint8, "s8": ctypes.c_int8, "s16": ctypes.c_int16}
        addresses = iter(self.arena.value + BUFFER_BYTES * number + BEFORE for number in range(MOST_POINTERS))
        found = []
        for kind in job["parameters"]:
            if kind == "pointer":
                found.append(ctypes.c_uint64(next(addresses)))
            elif isinstance(kind, dict):
                content = bytearray(kind["bytes"])
                for offset, size, pointer in kind["fields"]:
                    value = next(addresses) if pointer else 1 if size == 1 else integer
                    content[offset : offset + size] = value.to_bytes(size, "little")
                found.append((ctypes.c_ubyte * len(content)).from_buffer(content))
            else:
                made = kinds.get(kind, ctypes.c_uint32)
                found.append(made(0.5) if kind.startswith("f") else made(1 if kind in ("u8", "s8") else integer))
        return found

    def microseconds(self, function, job, values, times):
        """The time of one of so many launches."""
        self.call("cuEventRecord", self.begin, None)
        for _ in range(times):
            self.launch(function, job["grid"], job["block"], values, job["shared"])
        self.call("cuEventRecord", self.end, None)
        self.call("cuEventSynchronize", self.end)
        passed = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(passed), self.begin, self.end)
        return passed.value * 1000 / times

    def load(self, job, way):
        module = self.module((self.folder / f"{job['number']}.{way}.cubin").read_bytes())
        function = self.function(module, job["kernel"])
        if job["shared"]:
            self.call("cuFuncSetAttribute", function, MOST_DYNAMIC_SHARED, job["shared"])
        return module, function


class Worker:
    """A process with a context of its own: a fault ends it, and another takes its place."""

    def __init__(self, command):
        self.command, self.process = command, None

    def line(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return ""
        return self.process.stdout.readline()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, job, seconds):
        for _ in range(2):
            if self.process is None:
                self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
                if self.line(60).strip() != "ready":
                    self.stop()
                    return {"error": "no context"}
            try:
                self.process.stdin.write(json.dumps(job) + "\n")
                break
            except BrokenPipeError:
                self.stop()
        answer = self.line(seconds) if self.process else ""
        found = json.loads(answer) if answer else {"error": "no answer"}
        if "error" in found:
            self.stop()
        return found
