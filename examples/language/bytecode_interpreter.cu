// A stack machine: every thread runs the same bytecode on its own input, with an operand stack in local memory.
// A big switch inside a loop (a branch table or a compare tree), calls and returns, traps, a step limit.
#include "oriel_cuda.h"

enum Opcode : unsigned char {
  HALT, PUSH, INPUT, DUPLICATE, SWAP, DROP, OVER, ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, AND, OR, XOR, NOT,
  SHIFT_LEFT, SHIFT_RIGHT, NEGATE, LESS, EQUAL, JUMP, JUMP_IF_ZERO, LOAD, STORE, CALL, RETURN, MINIMUM, MAXIMUM,
  POPULATION, INCREMENT, DECREMENT,
};

constexpr int STACK = 24;
constexpr int FRAMES = 8;
enum Trap { STACK_TRAP = -1000000, CODE_TRAP, DIVIDE_TRAP, STEP_TRAP };

extern "C" __global__ void bytecode_interpreter(const unsigned char *__restrict__ code, int code_length,
                                                const int *__restrict__ inputs, int *__restrict__ results,
                                                int *__restrict__ steps_taken, int n, int step_limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int stack[STACK], variables[8] = {}, frames[FRAMES];
  int depth = 0, frame = 0, at = 0, steps = 0, result = 0;
  for (;; ++steps) {
    if (steps >= step_limit) {
      result = STEP_TRAP;
      break;
    }
    if (at < 0 || at + 1 >= code_length) {
      result = CODE_TRAP;
      break;
    }
    // One check for all instructions: none takes more than two operands or pushes more than one beyond them.
    if (depth + 2 > STACK) {
      result = STACK_TRAP;
      break;
    }
    unsigned char opcode = code[at], operand = code[at + 1];
    at += 2;
    int needed = opcode <= INPUT || opcode == JUMP || opcode == LOAD || opcode == CALL || opcode == RETURN ? 0
                 : opcode == SWAP || (opcode >= OVER && opcode <= XOR) || (opcode >= SHIFT_LEFT && opcode <= SHIFT_RIGHT) ||
                         opcode == LESS || opcode == EQUAL || opcode == MINIMUM || opcode == MAXIMUM
                     ? 2
                     : 1;
    if (depth < needed) {
      result = STACK_TRAP;
      break;
    }
    int a = needed == 2 ? stack[depth - 2] : 0;
    int b = needed >= 1 ? stack[depth - 1] : 0;
    bool halted = false;
    switch (opcode) {
    case HALT:
      result = depth > 0 ? stack[depth - 1] : 0;
      halted = true;
      break;
    case PUSH: stack[depth++] = (signed char)operand; break;
    case INPUT: stack[depth++] = inputs[i]; break;
    case DUPLICATE: stack[depth++] = b; break;
    case SWAP:
      stack[depth - 2] = b;
      stack[depth - 1] = a;
      break;
    case DROP: --depth; break;
    case OVER: stack[depth++] = a; break;
    case ADD: stack[--depth - 1] = a + b; break;
    case SUBTRACT: stack[--depth - 1] = a - b; break;
    case MULTIPLY: stack[--depth - 1] = a * b; break;
    case DIVIDE:
    case REMAINDER:
      if (b == 0 || b == -1) {
        result = DIVIDE_TRAP;
        halted = true;
      } else {
        stack[--depth - 1] = opcode == DIVIDE ? a / b : a % b;
      }
      break;
    case AND: stack[--depth - 1] = a & b; break;
    case OR: stack[--depth - 1] = a | b; break;
    case XOR: stack[--depth - 1] = a ^ b; break;
    case NOT: stack[depth - 1] = ~b; break;
    case SHIFT_LEFT: stack[--depth - 1] = (int)((unsigned)a << (b & 31)); break;
    case SHIFT_RIGHT: stack[--depth - 1] = a >> (b & 31); break;
    case NEGATE: stack[depth - 1] = -b; break;
    case LESS: stack[--depth - 1] = a < b; break;
    case EQUAL: stack[--depth - 1] = a == b; break;
    case JUMP: at = 2 * operand; break;
    case JUMP_IF_ZERO:
      --depth;
      if (b == 0)
        at = 2 * operand;
      break;
    case LOAD: stack[depth++] = variables[operand & 7]; break;
    case STORE: variables[operand & 7] = stack[--depth]; break;
    case CALL:
      if (frame == FRAMES) {
        result = STACK_TRAP;
        halted = true;
      } else {
        frames[frame++] = at;
        at = 2 * operand;
      }
      break;
    case RETURN:
      if (frame == 0) {
        result = STACK_TRAP;
        halted = true;
      } else {
        at = frames[--frame];
      }
      break;
    case MINIMUM: stack[--depth - 1] = min(a, b); break;
    case MAXIMUM: stack[--depth - 1] = max(a, b); break;
    case POPULATION: stack[depth - 1] = __popc(b); break;
    case INCREMENT: stack[depth - 1] = b + 1; break;
    case DECREMENT: stack[depth - 1] = b - 1; break;
    default:
      result = CODE_TRAP;
      halted = true;
      break;
    }
    if (halted)
      break;
  }
  results[i] = result;
  steps_taken[i] = steps;
}
