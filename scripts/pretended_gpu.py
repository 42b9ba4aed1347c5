"""Has torch say that there is a GPU where there is none, for launch_triton.py."""

import contextlib
from types import SimpleNamespace

# The properties of an A100, whatever is compiled for: programs choose sizes by them, and Triton knows the target.
PROPERTIES = {
    "name": "GPU",
    "multi_processor_count": 108,
    "total_memory": 80 << 30,
    "L2_cache_size": 40 << 20,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 166912,
    "shared_memory_per_multiprocessor": 167936,
    "regs_per_multiprocessor": 65536,
    "max_threads_per_multi_processor": 2048,
    "warp_size": 32,
}

# The same as Triton asks for it.
OF_DRIVER = {"max_shared_mem": 166912, "multiprocessor_count": 108, "warpSize": 32, "max_num_regs": 65536}
OF_DRIVER |= dict.fromkeys(("sm_clock_rate", "mem_clock_rate", "mem_bus_width"), 1)


def answers(value):
    """A function that does so, whatever it is asked. Each is another one, since torch tells its functions apart."""
    return lambda *arguments, **options: value


def pretend_gpu(capability):
    """Has torch say that there is a GPU of such a capability (80 for sm_80), and keep what should be there with the CPU. Returns the mode to
    be entered."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import DeviceContext

    there = torch.device("cuda", 0)

    def is_there(value):
        return isinstance(value, str) and value.startswith("cuda") or isinstance(value, torch.device) and value.type == "cuda"

    def here(value):
        return "cpu" if is_there(value) else value

    class OnCpu(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), options=None):
            # Reading an attribute is a call of a new object each time.
            attribute = getattr(function, "__self__", None)
            if attribute is torch.Tensor.device:
                return there
            if attribute is torch.Tensor.is_cuda:
                return True
            options = {name: here(value) for name, value in (options or {}).items()}
            if function is torch.Tensor.cuda:
                return arguments[0]
            if options.get("pin_memory"):
                options["pin_memory"] = False
            return function(*(here(value) if function is not torch.device else value for value in arguments), **options)

    major, minor = divmod(capability, 10)
    properties = SimpleNamespace(**PROPERTIES, major=major, minor=minor, gcnArchName="")
    waits = ("synchronize", "wait_stream", "wait_event", "record_event", "record", "wait")
    stream = SimpleNamespace(cuda_stream=0, device=there, **{name: answers(None) for name in waits})
    event = SimpleNamespace(elapsed_time=answers(1.0), query=answers(True), **{name: answers(None) for name in waits})
    cuda = torch.cuda
    for name, value in dict(
        is_available=True,
        is_initialized=True,
        device_count=1,
        current_device=0,
        get_device_capability=(major, minor),
        get_device_properties=properties,
        get_device_name="NVIDIA GPU",
        is_bf16_supported=True,
        current_stream=stream,
        default_stream=stream,
        memory_allocated=0,
        max_memory_allocated=0,
        mem_get_info=(80 << 30, 80 << 30),
        get_rng_state=torch.get_rng_state(),
    ).items():
        setattr(cuda, name, answers(value))
    for name in (
        "synchronize",
        "empty_cache",
        "init",
        "_lazy_init",
        "manual_seed",
        "manual_seed_all",
        "set_device",
        "set_rng_state",
        "reset_peak_memory_stats",
        "ipc_collect",
        "_check_capability",
    ):
        setattr(cuda, name, answers(None))
    cuda.device = cuda.device_of = cuda.stream = lambda *arguments: contextlib.nullcontext()
    cuda.Stream = type("Stream", (), {"__new__": lambda kind, *arguments, **options: stream})
    cuda.Event = type("Event", (), {"__new__": lambda kind, *arguments, **options: event})
    # Nothing has been computed, so that comparisons would only end a test before its next launch.
    for owner in (torch, torch.Tensor):
        owner.allclose, owner.equal = answers(True), answers(True)
    torch.testing.assert_close = torch.testing.assert_allclose = answers(None)
    torch.compile = lambda function=None, **options: function or (lambda function: function)
    torch.version.cuda = torch.version.cuda or "12.8"

    # Operators that a program registers for a GPU are called for what is kept here.
    library, generator = torch.library.Library, torch.Generator
    create = library.__init__
    library.__init__ = lambda self, name, kind, key="": create(self, name, kind, "CPU" if key == "CUDA" else key)
    implement = library.impl
    library.impl = lambda self, name, function, key="", **options: implement(self, name, function, "CPU" if key == "CUDA" else key, **options)
    torch.set_default_device = answers(None)
    enter = DeviceContext.__init__
    DeviceContext.__init__ = lambda self, device: enter(self, here(device))
    torch.Generator = type("Generator", (generator,), {"__new__": lambda kind, device="cpu": generator.__new__(kind, device="cpu")})
    return OnCpu()
