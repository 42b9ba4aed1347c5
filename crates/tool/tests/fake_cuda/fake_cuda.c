/* A CUDA driver without a GPU, for tests of src/cuda.
 *
 * Device memory is host memory at addresses that it alone knows; a "kernel" is recognised by its name and done here. The
 * driver's rules that a caller can break are checked: calls need cuInit and a current context, copies stay within an
 * allocation, parameters have the size that the kernel takes, large dynamic shared memory has to be asked for, and after
 * a kernel has failed every call fails, in this process for good, as with NVIDIA's.
 *
 * Time passes only in kernels: from PTX, saxpy takes 8 microseconds where it is fused and 10 where not, and others 1; from
 * a cubin a kernel takes as many nanoseconds as its machine code has bytes. With fewer than 8,000 bytes, saxpy is wrong,
 * and fails with fewer than 6,000.
 *
 * Compiled with -D: FAKE_MAJOR, FAKE_MINOR (compute capability), FAKE_NO_DEVICE, FAKE_WITHOUT_SET_ATTRIBUTE,
 * FAKE_HIDES_VARIABLES. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 8
#define FAKE_MINOR 0
#endif

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_CONTEXT = 201,
  INVALID_PTX = 218,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
};

typedef uint64_t Address;

typedef struct Allocation {
  struct Allocation *next;
  unsigned char *bytes;
  size_t size;
} Allocation;

/* A function in a cubin. */
typedef struct Code {
  struct Code *next;
  char name[64];
  uint64_t size;
} Code;

typedef struct Module {
  struct Module *next;
  /* PTX; empty for a cubin. */
  char *text;
  Code *codes;
  uint32_t counter;
  int live;
} Module;

typedef struct Function {
  Module *module;
  char name[64];
  int dynamic_shared_bytes;
} Function;

static int initialized;
static int retained;
static void *current;
static int context_object;
static int failed;
static Allocation *allocations;
static int live_modules;
static char calls[1 << 16];
/* Nanoseconds. */
static uint64_t now;
static int live_events;

/* For tests: the calls so far, a space behind each. */
const char *fake_calls(void) { return calls; }

/* For tests: allocations, modules, events and contexts that have not been given back. */
int fake_live(void) {
  int count = retained + live_modules + live_events;
  for (Allocation *it = allocations; it; it = it->next)
    count++;
  return count;
}

static void record(const char *name) {
  if (strlen(calls) + strlen(name) + 2 < sizeof calls) {
    strcat(calls, name);
    strcat(calls, " ");
  }
}

#define ENTER(condition_of_context)                                            \
  do {                                                                         \
    record(__func__);                                                          \
    if (!initialized)                                                          \
      return NOT_INITIALIZED;                                                  \
    if (condition_of_context && (!retained || current != &context_object))     \
      return INVALID_CONTEXT;                                                  \
    if (condition_of_context && failed)                                        \
      return failed;                                                           \
  } while (0)

int cuInit(unsigned flags) {
  record(__func__);
  if (flags)
    return INVALID_VALUE;
#ifdef FAKE_NO_DEVICE
  return NO_DEVICE;
#else
  initialized = 1;
  return SUCCESS;
#endif
}

int cuGetErrorName(int error, const char **text) {
  switch (error) {
  case INVALID_VALUE: *text = "CUDA_ERROR_INVALID_VALUE"; return SUCCESS;
  case NOT_INITIALIZED: *text = "CUDA_ERROR_NOT_INITIALIZED"; return SUCCESS;
  case NO_DEVICE: *text = "CUDA_ERROR_NO_DEVICE"; return SUCCESS;
  case INVALID_CONTEXT: *text = "CUDA_ERROR_INVALID_CONTEXT"; return SUCCESS;
  case INVALID_PTX: *text = "CUDA_ERROR_INVALID_PTX"; return SUCCESS;
  case NOT_FOUND: *text = "CUDA_ERROR_NOT_FOUND"; return SUCCESS;
  case ILLEGAL_ADDRESS: *text = "CUDA_ERROR_ILLEGAL_ADDRESS"; return SUCCESS;
  default: *text = NULL; return INVALID_VALUE;
  }
}

int cuGetErrorString(int error, const char **text) {
  switch (error) {
  case NO_DEVICE: *text = "no CUDA-capable device is detected"; return SUCCESS;
  case INVALID_PTX: *text = "a PTX JIT compilation failed"; return SUCCESS;
  case ILLEGAL_ADDRESS: *text = "an illegal memory access was encountered"; return SUCCESS;
  default: *text = NULL; return INVALID_VALUE;
  }
}

int cuDeviceGetCount(int *count) {
  ENTER(0);
  *count = 1;
  return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
  ENTER(0);
  /* Not the ordinal, so that the two cannot be confused. */
  *device = 7;
  return ordinal == 0 ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetName(char *name, int length, int device) {
  ENTER(0);
  if (device != 7)
    return INVALID_VALUE;
  snprintf(name, (size_t)length, "Fake GPU");
  return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER(0);
  if (device != 7 || (attribute != 38 && attribute != 75 && attribute != 76))
    return INVALID_VALUE;
  *value = attribute == 38 ? 4096 : attribute == 75 ? FAKE_MAJOR : FAKE_MINOR;
  return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTER(0);
  if (device != 7)
    return INVALID_VALUE;
  if (failed)
    return failed;
  retained++;
  *context = &context_object;
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER(0);
  if (device != 7 || !retained)
    return INVALID_VALUE;
  if (--retained == 0) {
    while (allocations) {
      Allocation *next = allocations->next;
      free(allocations->bytes);
      free(allocations);
      allocations = next;
    }
    live_modules = live_events = 0;
  }
  return SUCCESS;
}

int cuCtxSetCurrent(void *context) {
  record(__func__);
  current = context;
  return SUCCESS;
}

int cuCtxSynchronize(void) {
  ENTER(1);
  return SUCCESS;
}

/* The bytes at an address of an allocation, or NULL. */
static unsigned char *at(Address address, size_t size) {
  for (Allocation *it = allocations; it; it = it->next) {
    Address start = (Address)(uintptr_t)it->bytes;
    if (address >= start && size <= it->size && address - start <= it->size - size)
      return it->bytes + (address - start);
  }
  return NULL;
}

int cuMemAlloc_v2(Address *address, size_t size) {
  ENTER(1);
  if (!size)
    return INVALID_VALUE;
  Allocation *it = malloc(sizeof *it);
  it->bytes = aligned_alloc(256, (size + 255) / 256 * 256);
  memset(it->bytes, 0xCD, size);
  it->size = size;
  it->next = allocations;
  allocations = it;
  *address = (Address)(uintptr_t)it->bytes;
  return SUCCESS;
}

int cuMemFree_v2(Address address) {
  ENTER(1);
  for (Allocation **it = &allocations; *it; it = &(*it)->next)
    if ((Address)(uintptr_t)(*it)->bytes == address) {
      Allocation *gone = *it;
      *it = gone->next;
      free(gone->bytes);
      free(gone);
      return SUCCESS;
    }
  return INVALID_VALUE;
}

int cuMemcpyHtoD_v2(Address to, const void *from, size_t size) {
  ENTER(1);
  unsigned char *bytes = at(to, size);
  if (!bytes)
    return INVALID_VALUE;
  memcpy(bytes, from, size);
  return SUCCESS;
}

/* Variables of modules are device memory as well. */
static Module *modules;

static unsigned char *variable_at(Address address, size_t size) {
  for (Module *it = modules; it; it = it->next)
    if (it->live && address == (Address)(uintptr_t)&it->counter && size == 4)
      return (unsigned char *)&it->counter;
  return NULL;
}

int cuMemcpyDtoH_v2(void *to, Address from, size_t size) {
  ENTER(1);
  const void *bytes = at(from, size);
  if (!bytes)
    bytes = variable_at(from, size);
  if (!bytes)
    return INVALID_VALUE;
  memcpy(to, bytes, size);
  return SUCCESS;
}

int cuMemcpyDtoD_v2(Address to, Address from, size_t size) {
  ENTER(1);
  unsigned char *target = at(to, size), *source = at(from, size);
  if (!target)
    target = variable_at(to, size);
  if (!source)
    source = variable_at(from, size);
  if (!target || !source)
    return INVALID_VALUE;
  memcpy(target, source, size);
  return SUCCESS;
}

int cuEventCreate(void **event, unsigned flags) {
  ENTER(1);
  if (flags)
    return INVALID_VALUE;
  *event = calloc(1, sizeof now);
  live_events++;
  return SUCCESS;
}

int cuEventRecord(void *event, void *stream) {
  ENTER(1);
  if (stream)
    return INVALID_VALUE;
  *(uint64_t *)event = now;
  return SUCCESS;
}

int cuEventSynchronize(void *event) {
  ENTER(1);
  return event ? SUCCESS : INVALID_HANDLE;
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  ENTER(1);
  *milliseconds = (float)(*(uint64_t *)end - *(uint64_t *)start) / 1e6f;
  return SUCCESS;
}

int cuEventDestroy_v2(void *event) {
  ENTER(1);
  free(event);
  live_events--;
  return SUCCESS;
}

int cuMemsetD8_v2(Address to, unsigned char value, size_t size) {
  ENTER(1);
  unsigned char *bytes = at(to, size);
  if (!bytes)
    return INVALID_VALUE;
  memset(bytes, value, size);
  return SUCCESS;
}

/* A number in an ELF file. */
static uint64_t field(const unsigned char *at, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, at, bytes);
  return value;
}

/* The functions of a cubin: its sections .text.NAME. */
static Code *codes_of(const unsigned char *elf) {
  Code *codes = NULL;
  const unsigned char *headers = elf + field(elf + 0x28, 8);
  size_t entry = field(elf + 0x3A, 2), count = field(elf + 0x3C, 2), of_names = field(elf + 0x3E, 2);
  const char *names = (const char *)elf + field(headers + of_names * entry + 0x18, 8);
  for (size_t i = 0; i < count; i++) {
    const unsigned char *header = headers + i * entry;
    const char *name = names + field(header, 4);
    if (strncmp(name, ".text.", 6))
      continue;
    Code *it = calloc(1, sizeof *it);
    snprintf(it->name, sizeof it->name, "%s", name + 6);
    it->size = field(header + 0x20, 8);
    it->next = codes;
    codes = it;
  }
  return codes;
}

static const Code *code_of(const Module *module, const char *name) {
  const Code *it = module->codes;
  while (it && strcmp(it->name, name))
    it = it->next;
  return it;
}

/* Compiles everything but calls of functions that are not there. */
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  ENTER(1);
  const char *text = image;
  if (strstr(text, ".extern .func")) {
    char *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
      if (options[i] == 5)
        log = values[i];
      if (options[i] == 6)
        size = (size_t)(uintptr_t)values[i];
    }
    if (log)
      snprintf(log, size, "ptxas fatal   : Unresolved extern function '%s'\n", "missing");
    return INVALID_PTX;
  }
  Module *it = calloc(1, sizeof *it);
  if (!memcmp(text, "\177ELF", 4)) {
    it->text = strdup("");
    it->codes = codes_of(image);
  } else {
    it->text = strdup(text);
  }
  it->counter = 100;
  it->live = 1;
  it->next = modules;
  modules = it;
  live_modules++;
  *module = it;
  return SUCCESS;
}

int cuModuleUnload(void *module) {
  ENTER(1);
  Module *it = module;
  if (!it->live)
    return INVALID_HANDLE;
  it->live = 0;
  live_modules--;
  return SUCCESS;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTER(1);
  char declaration[128];
  snprintf(declaration, sizeof declaration, ".entry %s(", name);
  Module *owner = module;
  if (!owner->live)
    return INVALID_HANDLE;
  if (!strstr(owner->text, declaration) && !code_of(owner, name))
    return NOT_FOUND;
  Function *it = calloc(1, sizeof *it);
  it->module = owner;
  snprintf(it->name, sizeof it->name, "%s", name);
  *function = it;
  return SUCCESS;
}

int cuModuleGetGlobal_v2(Address *address, size_t *size, void *module, const char *name) {
  ENTER(1);
  Module *owner = module;
#ifdef FAKE_HIDES_VARIABLES
  return NOT_FOUND;
#endif
  if (strcmp(name, "counter") || !strstr(owner->text, "counter"))
    return NOT_FOUND;
  *address = (Address)(uintptr_t)&owner->counter;
  *size = 4;
  return SUCCESS;
}

int cuFuncGetAttribute(int *value, int attribute, void *function) {
  ENTER(1);
  Function *it = function;
  if (attribute != 3 && attribute != 4)
    return INVALID_VALUE;
  *value = attribute == 4 ? 10 + (int)strlen(it->name) : 24;
  return SUCCESS;
}

#ifndef FAKE_WITHOUT_SET_ATTRIBUTE
int cuFuncSetAttribute(void *function, int attribute, int value) {
  ENTER(1);
  if (attribute != 8 || value > 232448)
    return INVALID_VALUE;
  ((Function *)function)->dynamic_shared_bytes = value;
  return SUCCESS;
}
#endif

/* y = a * x + y, fused where the PTX is; counts its threads in the module's variable. */
static int saxpy(Function *it, const unsigned char *parameters, uint32_t threads) {
  const Code *code = code_of(it->module, "saxpy");
  if (code && code->size < 6000)
    return ILLEGAL_ADDRESS;
  uint32_t n;
  float a;
  Address x, y;
  memcpy(&n, parameters, 4);
  memcpy(&a, parameters + 4, 4);
  memcpy(&x, parameters + 8, 8);
  memcpy(&y, parameters + 16, 8);
  int fused = strstr(it->module->text, "fma.rn.f32") != NULL;
  it->module->counter += threads;
  for (uint32_t i = 0; i < threads && i < n; i++) {
    float *xi = (float *)at(x + 4 * i, 4), *yi = (float *)at(y + 4 * i, 4);
    if (!xi || !yi)
      return ILLEGAL_ADDRESS;
    volatile float product = a * *xi;
    *yi = fused ? fmaf(a, *xi, *yi) : product + *yi;
    if (code && code->size < 8000)
      *yi += 1;
  }
  return SUCCESS;
}

/* Writes all its parameters to where the first one points. */
static int copy_parameters(const unsigned char *parameters, size_t size) {
  Address to;
  memcpy(&to, parameters, 8);
  unsigned char *bytes = at(to, size);
  if (!bytes)
    return ILLEGAL_ADDRESS;
  memcpy(bytes, parameters, size);
  return SUCCESS;
}

/* Writes what it knows of its launch to where its parameter points. */
static int copy_launch(const unsigned char *parameters, const unsigned *dimensions, unsigned shared) {
  Address to;
  memcpy(&to, parameters, 8);
  unsigned char *bytes = at(to, 28);
  if (!bytes)
    return ILLEGAL_ADDRESS;
  memcpy(bytes, dimensions, 24);
  memcpy(bytes + 24, &shared, 4);
  return SUCCESS;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  ENTER(1);
  Function *it = function;
  if (stream || parameters || !it->module->live || bx * by * bz == 0 || bx * by * bz > 1024)
    return INVALID_VALUE;
  if (shared > 48 * 1024 && (int)shared > it->dynamic_shared_bytes)
    return INVALID_VALUE;
  const unsigned char *bytes = NULL;
  size_t size = 0;
  for (void **option = extra; *option; option += 2) {
    if (*option == (void *)1)
      bytes = option[1];
    else if (*option == (void *)2)
      size = *(size_t *)option[1];
    else
      return INVALID_VALUE;
  }
  unsigned dimensions[6] = {gx, gy, gz, bx, by, bz};
  const Code *code = code_of(it->module, it->name);
  if (code)
    now += code->size;
  else if (strcmp(it->name, "saxpy"))
    now += 1000;
  else
    now += strstr(it->module->text, "fma.rn.f32") ? 8000 : 10000;
  if (!strcmp(it->name, "saxpy")) {
    if (size != 24)
      return INVALID_VALUE;
    failed = saxpy(it, bytes, gx * gy * gz * bx * by * bz);
  } else if (!strcmp(it->name, "copy_parameters")) {
    failed = copy_parameters(bytes, size);
  } else if (!strcmp(it->name, "copy_launch")) {
    failed = copy_launch(bytes, dimensions, shared);
  } else {
    return INVALID_VALUE;
  }
  return SUCCESS;
}
