/* Part of Oriel, under the Apache License v2.0 with LLVM Exceptions. */
#ifndef OWN_FUNCTION_H
#define OWN_FUNCTION_H

/* Prints where the registers of a function of this program are live. Returns
   zero if that failed. */
int print_own_function(void);

#endif
