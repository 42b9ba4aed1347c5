// Division and remainder: by constants, by powers of two, by variables, signed and unsigned, 32 and 64 bits wide.
// Multiplications by magic numbers, corrections of the sign, calendar arithmetic with a chain of divisions.
#include "oriel_cuda.h"

// Days since 1970-01-01 to year, month and day in the proleptic Gregorian calendar.
extern "C" __global__ void civil_from_days(const int *__restrict__ days, int *__restrict__ packed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int shifted = days[i] + 719468;
  int era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  unsigned day_of_era = (unsigned)(shifted - era * 146097);
  unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  unsigned month_index = (5 * day_of_year + 2) / 153;
  int day = (int)(day_of_year - (153 * month_index + 2) / 5 + 1);
  int month = (int)(month_index < 10 ? month_index + 3 : month_index - 9);
  int year = (int)year_of_era + era * 400 + (month <= 2);
  packed[i] = year * 10000 + month * 100 + day;
}

extern "C" __global__ void divide_by_variables(const int *__restrict__ a, const int *__restrict__ b,
                                               const long long *__restrict__ wide, long long *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int x = a[i], y = b[i] | 1;
  long long z = wide[i];
  unsigned ux = (unsigned)x, uy = (unsigned)y;
  long long sum = x / y + x % y + (long long)(ux / uy) + ux % uy;
  sum += z / y + z % (y | 0x100);
  sum += (long long)((unsigned long long)z / uy) + z / 1000000007LL + z % 1024 + x / 8 + x % 10;
  out[i] = sum;
}
