// Stands in for the header that cuml's build generates: nothing is logged.
#pragma once

#define CUML_LOG_TRACE(...)
#define CUML_LOG_DEBUG(...)
#define CUML_LOG_INFO(...)
#define CUML_LOG_WARN(...)
#define CUML_LOG_ERROR(...)
#define CUML_LOG_CRITICAL(...)
