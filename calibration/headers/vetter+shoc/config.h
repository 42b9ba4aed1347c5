// Nothing of the configuration concerns kernels.
