// Empty: what the build configures is not used by device code.
