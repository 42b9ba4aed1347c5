// CRC-32 of many records: by a table a byte at a time, and by four tables a word at a time.
// Tables computed at compile time in constant memory, a serial dependence through a load, a byte tail loop.
#include "oriel_cuda.h"

struct CrcTables {
  unsigned at[4][256];
  constexpr CrcTables() : at() {
    for (unsigned i = 0; i < 256; ++i) {
      unsigned crc = i;
      for (int bit = 0; bit < 8; ++bit)
        crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
      at[0][i] = crc;
    }
    for (int slice = 1; slice < 4; ++slice)
      for (unsigned i = 0; i < 256; ++i)
        at[slice][i] = at[slice - 1][i] >> 8 ^ at[0][at[slice - 1][i] & 255];
  }
};

__constant__ CrcTables crc_tables;

extern "C" __global__ void crc32_bytes(const unsigned char *__restrict__ data, int record_length, int records,
                                       unsigned *__restrict__ out) {
  int record = blockIdx.x * blockDim.x + threadIdx.x;
  if (record >= records)
    return;
  unsigned crc = ~0u;
  for (int i = 0; i < record_length; ++i)
    crc = crc >> 8 ^ crc_tables.at[0][(crc ^ data[record * record_length + i]) & 255];
  out[record] = ~crc;
}

extern "C" __global__ void crc32_slicing_by_four(const unsigned char *__restrict__ data, int record_length, int records,
                                                 unsigned *__restrict__ out) {
  int record = blockIdx.x * blockDim.x + threadIdx.x;
  if (record >= records)
    return;
  const unsigned char *bytes = data + record * record_length;
  unsigned crc = ~0u;
  int i = 0;
  for (; i + 4 <= record_length; i += 4) {
    // Records need not start at a word boundary.
    crc ^= bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | (unsigned)bytes[i + 3] << 24;
    crc = crc_tables.at[3][crc & 255] ^ crc_tables.at[2][crc >> 8 & 255] ^ crc_tables.at[1][crc >> 16 & 255] ^
          crc_tables.at[0][crc >> 24];
  }
  for (; i < record_length; ++i)
    crc = crc >> 8 ^ crc_tables.at[0][(crc ^ bytes[i]) & 255];
  out[record] = ~crc;
}
