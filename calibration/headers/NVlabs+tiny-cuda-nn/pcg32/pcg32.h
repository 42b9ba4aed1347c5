// The project's copy of pcg32 is for device code too.
#pragma once
#pragma clang force_cuda_host_device begin
#include <pcg32.h>
#pragma clang force_cuda_host_device end
