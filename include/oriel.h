/*===- oriel.h - Oriel for C and C++ hosts ---------------------------------===*\
|*
|* Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*
|*
|* Two kinds of hosts:
|*
|*  - a toolchain that links LLVM and compiles with it: oriel_register() once,
|*    and every NVPTX compilation of the process goes through Oriel;
|*    oriel_compile() compiles one module with options of its own and keeps what
|*    Oriel knows of each function;
|*  - a program without LLVM that works on snapshot files, which
|*    -oriel-snapshot=DIR writes: OrielMachineFunction.
|*
|* Errors. A function that can fail returns an OrielStatus and takes a `message`,
|* which may be null. If it fails, *message becomes a text in English that says
|* what was wrong, where, and what to do, for the caller to dispose of with
|* oriel_dispose_message(); results are left alone. If it succeeds, *message is
|* set to null. No function unwinds, and Oriel ends no process. LLVM does, in
|* oriel_compile, where it has no error to return: for an intrinsic that the GPU
|* does not have it says "Cannot select". Compile such code in a process of its
|* own: if a host recovers from such an end (CrashRecoveryContext), the thread's
|* later compilations still have that one's options.
|*
|* Ownership. What a function named ..._create, ..._load, ..._compute or
|* oriel_compile gives out belongs to the caller until the ..._dispose of its
|* kind, which takes null. A `const` pointer that is given out belongs to what it
|* was asked of, and lives as long. Texts and bytes that are handed in are copied
|* as far as they are needed.
|*
|* Threads. Every function may be called on any thread, at the same time as any
|* other. An object may be read (a `const` parameter) by several threads at once,
|* and must not be changed or disposed of meanwhile. Modules and target machines
|* have LLVM's rule: one thread at a time for all that belongs to one context.
|*
|* Texts are UTF-8 and end with a zero byte.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ORIEL_H
#define ORIEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Changes whenever a program that was compiled with an older oriel.h could not
    work with the library any more. */
#define ORIEL_API_VERSION 1u

/** Stands for a figure that is not known. */
#define ORIEL_UNKNOWN 0xFFFFFFFFu

/** How a call ended. Numbers stay as they are from version to version. */
typedef enum OrielStatus {
  ORIEL_OK = 0,
  /** A null pointer where none may be, a text that is no UTF-8, an index past
      the end. */
  ORIEL_INVALID_ARGUMENT = 1,
  /** The program was compiled with an oriel.h of another ORIEL_API_VERSION. */
  ORIEL_WRONG_API = 2,
  /** The process runs another LLVM than the one that the library was built for,
      or has loaded another copy of the library before. */
  ORIEL_WRONG_LLVM = 3,
  /** The library was built without LLVM. */
  ORIEL_WITHOUT_LLVM = 4,
  /** There is no such option, or its value is not allowed; also in ORIEL_FLAGS. */
  ORIEL_INVALID_FLAGS = 5,
  /** The process has compiled already: its options are fixed. */
  ORIEL_TOO_LATE = 6,
  /** A file cannot be read or written. */
  ORIEL_FILE_ERROR = 7,
  /** It is no snapshot, one of another version, or a damaged one. */
  ORIEL_INVALID_SNAPSHOT = 8,
  /** It is correct, but Oriel cannot represent it. */
  ORIEL_UNSUPPORTED = 9,
  /** LLVM refuses the module or the target. */
  ORIEL_COMPILATION_FAILED = 10,
  /** A mistake in Oriel. Nothing was changed. */
  ORIEL_INTERNAL_ERROR = 11
} OrielStatus;

/** Disposes of a message, or of a text that is the caller's; null is allowed. */
void oriel_dispose_message(char *message);

/*===-- Versions ----------------------------------------------------------===*/

/** The library's version, such as "0.1.0". The text lives as long as the
    process. */
const char *oriel_version(void);

/** The version of LLVM that the library was built for, such as "22.1.8"; empty
    if it was built without. The text lives as long as the process. */
const char *oriel_llvm_version(void);

/** Does the library fit the oriel.h that the program was compiled with? Call it
    first, as oriel_check_abi(&message). ORIEL_OK or ORIEL_WRONG_API. */
#define oriel_check_abi(message)                                               \
  oriel_check_abi_of(ORIEL_API_VERSION, sizeof(OrielFigures),                  \
                     sizeof(OrielInterval), sizeof(OrielSegment), (message))
OrielStatus oriel_check_abi_of(uint32_t api_version, size_t figures_size,
                               size_t interval_size, size_t segment_size,
                               char **message);

/*===-- The process -------------------------------------------------------===*/

/** Makes Oriel part of every later NVPTX compilation of this process, whoever
    starts it, and sets the process's options.

    The library puts its passes into LLVM's code generation when it is loaded;
    this call makes sure that it is, that the process runs the LLVM that it was
    built for, and that all options are right, before anything is compiled. Call
    it as often as you like.

    \p flags are options as in ORIEL_FLAGS (docs/options.md), such as
    "-oriel-profile=ptxas -oriel-report=report.json"; null or empty for none.
    They come behind those in the environment, and win. Of threads that register
    different flags at the same time, none knows which come last.

    ORIEL_OK, ORIEL_WRONG_LLVM, ORIEL_WITHOUT_LLVM, ORIEL_INVALID_FLAGS, or
    ORIEL_TOO_LATE if the process's options are in use and one of the flags would
    change them: a function has been compiled, or oriel_options_create() has been
    called. Either all flags are set or none. */
OrielStatus oriel_register(const char *flags, char **message);

/*===-- Options -----------------------------------------------------------===*/

/** Options of one compilation, or of phases on one function. Many threads may
    compile with the same ones, as long as none adds to them. */
typedef struct OrielOptions OrielOptions;

/** The process's options, for you to add to: those of ORIEL_FLAGS, of LLVM's
    command line and of oriel_register(), which are fixed from then on. Dispose
    of *options with oriel_options_dispose().

    ORIEL_OK or ORIEL_INVALID_FLAGS (in ORIEL_FLAGS). */
OrielStatus oriel_options_create(OrielOptions **options, char **message);

/** Adds options, written as for oriel_register(). None is added if one is wrong.

    ORIEL_OK or ORIEL_INVALID_FLAGS. */
OrielStatus oriel_options_add(OrielOptions *options, const char *flags,
                              char **message);

/** Disposes of options; null is allowed. No compilation may be using them. */
void oriel_options_dispose(OrielOptions *options);

/*===-- Machine functions -------------------------------------------------===*/

/** A machine function as LLVM has lowered it, by itself: a snapshot. It belongs
    to a compilation, or was read from a file, and never changes. */
typedef struct OrielMachineFunction OrielMachineFunction;

/** Reads a snapshot file. Dispose of *function with oriel_function_dispose().

    ORIEL_OK, ORIEL_FILE_ERROR or ORIEL_INVALID_SNAPSHOT. */
OrielStatus oriel_function_load(const char *path,
                                OrielMachineFunction **function,
                                char **message);

/** Reads a snapshot from memory, which may be aligned anyhow and is free
    afterwards. Dispose of *function with oriel_function_dispose().

    ORIEL_OK or ORIEL_INVALID_SNAPSHOT. */
OrielStatus oriel_function_load_bytes(const void *bytes, size_t length,
                                      OrielMachineFunction **function,
                                      char **message);

/** Exports a machine function that is being compiled: \p machine_function is the
    llvm::MachineFunction * that a pass of the host's has in its hands, compiled
    for NVPTX. Registers have the numbers of virtual registers; blocks, and the
    instructions of the whole function, debug instructions included, are numbered
    from zero in the order of the layout. Dispose of *function with
    oriel_function_dispose().

    ORIEL_OK, ORIEL_UNSUPPORTED, ORIEL_WRONG_LLVM or ORIEL_WITHOUT_LLVM. */
OrielStatus oriel_function_export(void *machine_function,
                                  OrielMachineFunction **function,
                                  char **message);

/** Writes a snapshot file. ORIEL_OK or ORIEL_FILE_ERROR. */
OrielStatus oriel_function_save(const OrielMachineFunction *function,
                                const char *path, char **message);

/** The name that the function has in LLVM's module, without the \1 that keeps
    LLVM from changing it. It lives as long as the function. */
const char *oriel_function_name(const OrielMachineFunction *function);

/** Where code generation had come to: "ssa" or "late". The text lives as long
    as the function. */
const char *oriel_function_stage(const OrielMachineFunction *function);

/** Compute capability times ten: 80 for sm_80. */
uint32_t oriel_function_sm(const OrielMachineFunction *function);

/** One for an entry point, zero for a device function. */
int oriel_function_is_kernel(const OrielMachineFunction *function);

/** Disposes of a function that was read, and not of one that belongs to a
    compilation; null is allowed. */
void oriel_function_dispose(OrielMachineFunction *function);

/*===-- What Oriel knows of a function ------------------------------------===*/

/** Pressure, registers and occupancy, in the units of docs/report.md.
    ORIEL_UNKNOWN stands for what is not known: the estimate and what follows
    from it where the function is not of stage "late", occupancy where it is no
    kernel, the limit where it has no launch bounds. The estimate of a function
    of an OrielCompilation includes the functions that it calls. */
typedef struct OrielFigures {
  uint32_t peak_pressure_r32;  /**< Units of 32 bits that are live at once. */
  uint32_t peak_pressure_pred; /**< Predicates that are live at once. */
  uint32_t registers_estimate; /**< Registers a thread that ptxas will use. */
  uint32_t registers_estimate_low;  /**< The least that is likely. */
  uint32_t registers_estimate_high; /**< The most that is likely. */
  uint32_t spill_risk_percent; /**< That the limit makes ptxas spill. */
  uint32_t registers_limit;    /**< What launch bounds allow a thread. */
  uint32_t occupancy_threads_per_block;
  uint32_t occupancy_blocks_per_sm;
  uint32_t occupancy_warps_per_sm;
  uint32_t occupancy_max_warps_per_sm; /**< What the SM can hold. */
  uint32_t registers_for_more_warps; /**< The most with which more warps fit. */
  uint64_t static_shared_bytes;
} OrielFigures;

/** Fills in the figures of a function. ORIEL_OK or ORIEL_INTERNAL_ERROR. */
OrielStatus oriel_function_figures(const OrielMachineFunction *function,
                                   OrielFigures *figures, char **message);

/** The forms of a report. */
typedef enum OrielReportForm {
  /** One JSON object, as `oriel report --json --details` prints it:
      docs/report.schema.json. */
  ORIEL_REPORT_JSON = 0,
  /** What `oriel report --details` prints. */
  ORIEL_REPORT_TEXT = 1,
  /** The HTML page of `oriel report --html`. */
  ORIEL_REPORT_HTML = 2
} OrielReportForm;

/** The report on a function. Dispose of *text with oriel_dispose_message().

    ORIEL_OK, ORIEL_INVALID_ARGUMENT for another form, or ORIEL_INTERNAL_ERROR. */
OrielStatus oriel_function_report(const OrielMachineFunction *function,
                                  OrielReportForm form, char **text,
                                  char **message);

/*===-- Live intervals ----------------------------------------------------===*/

/** A piece of a live interval: slot indexes from `start` up to, not including,
    `end`, during which the register has one value. */
typedef struct OrielSegment {
  uint32_t start;
  uint32_t end;
  uint32_t value; /**< Number of the value in its interval. */
} OrielSegment;

/** The live interval of a virtual register; without segments if it has none. */
typedef struct OrielInterval {
  uint32_t first_segment; /**< Into the segments of all intervals. */
  uint32_t segment_count; /**< In ascending order, without overlap. */
  uint32_t value_count;
} OrielInterval;

/** The live intervals of all virtual registers: those that LLVM's LiveIntervals
    computes. */
typedef struct OrielIntervals OrielIntervals;

/** Computes the live intervals of a function. Dispose of *intervals with
    oriel_intervals_dispose().

    ORIEL_OK or ORIEL_INTERNAL_ERROR. */
OrielStatus oriel_intervals_compute(const OrielMachineFunction *function,
                                    OrielIntervals **intervals, char **message);

/** The intervals, by number of the virtual register (0 for %0). The array lives
    as long as the intervals, and so do the two below. */
const OrielInterval *oriel_intervals(const OrielIntervals *intervals,
                                     size_t *count);

/** The segments that the intervals refer to. */
const OrielSegment *oriel_intervals_segments(const OrielIntervals *intervals,
                                             size_t *count);

/** All of it as LLVM prints live intervals. */
const char *oriel_intervals_text(const OrielIntervals *intervals);

/** Disposes of intervals; null is allowed. */
void oriel_intervals_dispose(OrielIntervals *intervals);

/*===-- Live intervals of a function of the host's own --------------------===*/

/** What an instruction does to a register. */
typedef enum OrielAccess {
  ORIEL_READS = 0,
  ORIEL_DEFINES = 1,
  /** Defines it before the instruction's inputs are read. */
  ORIEL_DEFINES_EARLY = 2,
  /** A PHI reads it where control comes from `block`. */
  ORIEL_READS_FROM_BLOCK = 3
} OrielAccess;

/** A register operand of an instruction. */
typedef struct OrielHostOperand {
  uint32_t reg;
  uint32_t access; /**< An OrielAccess. */
  uint32_t block;  /**< Only for ORIEL_READS_FROM_BLOCK. */
} OrielHostOperand;

/** A function in the host's own data structures. Block 0 is the entry; blocks
    and registers are numbered from zero, and so are the instructions of each
    block. Every callback gets `context`. An array that one gives out stays the
    host's, and is read before the next callback; where it is null or `*count` is
    zero there is nothing. */
typedef struct OrielHostFunction {
  void *context;
  uint32_t register_count; /**< At most 2^24. */
  uint32_t block_count;    /**< At most 2^24. */
  /** The units of 32 bits that a register takes, zero for a predicate. All
      together have less than 2^31. */
  uint32_t (*register_units)(void *context, uint32_t reg);
  /** The blocks that control may go to at the end of a block. */
  const uint32_t *(*successors)(void *context, uint32_t block, size_t *count);
  /** How many instructions a block has, those for debuggers left out. All
      blocks and their instructions together are less than 2^28 - 1. */
  uint32_t (*instruction_count)(void *context, uint32_t block);
  /** The register operands of an instruction. */
  const OrielHostOperand *(*operands)(void *context, uint32_t block,
                                      uint32_t instruction, size_t *count);
} OrielHostFunction;

/** Computes the live intervals of a function of the host's own: those that LLVM
    would compute. Instructions are numbered through the function, in the order
    of blocks. Dispose of *intervals with oriel_intervals_dispose().

    ORIEL_OK, ORIEL_INVALID_ARGUMENT if the host names a block or a register that
    there is not, or ORIEL_INTERNAL_ERROR. */
OrielStatus oriel_intervals_compute_host(const OrielHostFunction *function,
                                         OrielIntervals **intervals,
                                         char **message);

/*===-- Questions about live intervals ------------------------------------===*/

/* A slot index is a number as LLVM prints it: "16r" is 16 + 2. An instruction,
   and the start of a block, has four: the boundary (+ 0), where early-clobber
   results are defined (+ 1), where operands are read and results defined (+ 2),
   and where a result that nothing reads ends (+ 3).

   None of these functions fails. A number that stands for nothing in the
   function gets the answer ORIEL_UNKNOWN, null or zero. */

/** A definition: what a register holds from there on. */
typedef struct OrielValue {
  uint32_t definition; /**< Slot index; ORIEL_UNKNOWN for a number in no use. */
  uint32_t is_phi;     /**< One if control merges it where a block begins. */
} OrielValue;

/** The values of a register, by number. The array lives as long as the
    intervals. */
const OrielValue *oriel_intervals_values(const OrielIntervals *intervals,
                                         uint32_t reg, size_t *count);

/** How many blocks the function has. */
uint32_t oriel_intervals_block_count(const OrielIntervals *intervals);

/** How many instructions the function has. */
uint32_t oriel_intervals_instruction_count(const OrielIntervals *intervals);

/** The slot index of an instruction; ORIEL_UNKNOWN for one for debuggers. */
uint32_t oriel_intervals_instruction_index(const OrielIntervals *intervals,
                                           uint32_t instruction);

/** The instruction that a slot index belongs to. */
uint32_t oriel_intervals_instruction_at(const OrielIntervals *intervals,
                                        uint32_t index);

/** The slot index where a block begins. */
uint32_t oriel_intervals_block_start(const OrielIntervals *intervals,
                                     uint32_t block);

/** The slot index where a block ends, which is that where the next begins. */
uint32_t oriel_intervals_block_end(const OrielIntervals *intervals,
                                   uint32_t block);

/** The block that a slot index falls in. */
uint32_t oriel_intervals_block_at(const OrielIntervals *intervals,
                                  uint32_t index);

/** The number of the value that a register has at a slot index; ORIEL_UNKNOWN
    where it has none that matters. */
uint32_t oriel_intervals_value_at(const OrielIntervals *intervals,
                                  uint32_t reg, uint32_t index);

/** One if a register is live at a slot index. */
int oriel_intervals_live_at(const OrielIntervals *intervals, uint32_t reg,
                            uint32_t index);

/** One if a register is live where a block begins. */
int oriel_intervals_live_in(const OrielIntervals *intervals, uint32_t reg,
                            uint32_t block);

/** One if a register is live where control leaves a block. */
int oriel_intervals_live_out(const OrielIntervals *intervals, uint32_t reg,
                             uint32_t block);

/** One if two registers are live at once somewhere. */
int oriel_intervals_interfere(const OrielIntervals *intervals, uint32_t one,
                              uint32_t other);

/** Writes the registers that are live at a slot index to \p registers, in
    ascending order and no more than \p capacity. Returns how many there are. */
size_t oriel_intervals_registers_at(const OrielIntervals *intervals,
                                    uint32_t index, uint32_t *registers,
                                    size_t capacity);

/** Two files of registers, whose pressure is counted apart. */
typedef enum OrielRegisterFile {
  ORIEL_GENERAL_REGISTERS = 0, /**< In units of 32 bits. */
  ORIEL_PREDICATES = 1         /**< In registers. */
} OrielRegisterFile;

/** The units that are live from a slot index up to that of the next point. */
typedef struct OrielPressurePoint {
  uint32_t index;
  uint32_t units;
} OrielPressurePoint;

/** The pressure of a file over the function: every slot index where it changes,
    in ascending order. It is zero before the first. The array lives as long as
    the intervals. */
const OrielPressurePoint *
oriel_intervals_pressure(const OrielIntervals *intervals, uint32_t file,
                         size_t *count);

/*===-- Phases without LLVM -----------------------------------------------===*/

/** Phases that were run over a function. */
typedef struct OrielPhaseRun OrielPhaseRun;

/** Runs the phases that \p options ask for at the function's stage and SM over a
    copy of the function in Ori; null: the process's options. What they are is
    said as for a compilation: "-oriel-profile=ptxas", "-oriel-phases=GvnCse",
    "-oriel-knob=…". Options of reports and prints have no effect. Dispose of
    *run with oriel_phase_run_dispose().

    ORIEL_OK, ORIEL_UNSUPPORTED if Ori cannot represent the function,
    ORIEL_INVALID_FLAGS (in ORIEL_FLAGS) or ORIEL_INTERNAL_ERROR. */
OrielStatus oriel_phase_run_compute(const OrielMachineFunction *function,
                                    const OrielOptions *options,
                                    OrielPhaseRun **run, char **message);

/** One if a phase changed the function. */
int oriel_phase_run_changed(const OrielPhaseRun *run);

/** The function behind the phases, in Ori's text form (docs/ori-text.md). The
    text lives as long as the run, and so does the one below. */
const char *oriel_phase_run_text(const OrielPhaseRun *run);

/** What each phase did to size and pressure, and what phases counted and
    remarked: a JSON object, described in docs/embedding.md. */
const char *oriel_phase_run_effects(const OrielPhaseRun *run);

/** Disposes of a run; null is allowed. */
void oriel_phase_run_dispose(OrielPhaseRun *run);

/*===-- Compilation -------------------------------------------------------===*/

/* LLVM-C's LLVMModuleRef and LLVMTargetMachineRef. In C++, llvm::wrap() makes
   the first of an llvm::Module *, and `reinterpret_cast` the second of an
   llvm::TargetMachine *. */
struct LLVMOpaqueModule;
struct LLVMOpaqueTargetMachine;

/** What came of a module. */
typedef struct OrielCompilation OrielCompilation;

/** Compiles a module to PTX, on the calling thread, with options of its own;
    null: the process's. The module and the machine stay the caller's, and the
    machine has to be one for NVPTX. Code generation changes the module as it
    does in any compilation: it is of no further use but to be disposed of.
    Warnings and remarks go to the diagnostic handler of the module's context.
    Whether that was to respect LLVM's filters cannot be asked of a context: from
    then on it gets all of them. Dispose of *compilation with
    oriel_compilation_dispose(); the module may be gone by then.

    ORIEL_OK, ORIEL_INVALID_ARGUMENT for another target,
    ORIEL_COMPILATION_FAILED with LLVM's message, ORIEL_WRONG_LLVM,
    ORIEL_WITHOUT_LLVM or ORIEL_INVALID_FLAGS (in ORIEL_FLAGS). */
OrielStatus oriel_compile(struct LLVMOpaqueModule *module,
                          struct LLVMOpaqueTargetMachine *machine,
                          const OrielOptions *options,
                          OrielCompilation **compilation, char **message);

/** The PTX. The text lives as long as the compilation, and so does what the
    functions below give out. */
const char *oriel_compilation_ptx(const OrielCompilation *compilation);

/** One JSON object a function and stage, one a line, as -oriel-report writes
    them: docs/report.schema.json. */
const char *oriel_compilation_report(const OrielCompilation *compilation);

/** How many functions went through Oriel: none at -O0, not those marked
    optnone. */
size_t
oriel_compilation_function_count(const OrielCompilation *compilation);

/** A function as it left Oriel, at stage "late"; null past the end. */
const OrielMachineFunction *
oriel_compilation_function(const OrielCompilation *compilation, size_t index);

/** Disposes of a compilation, its functions included; null is allowed. */
void oriel_compilation_dispose(OrielCompilation *compilation);

#ifdef __cplusplus
}
#endif

#endif /* ORIEL_H */
