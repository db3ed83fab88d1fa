"""Imports of published libraries from Triton's inside, and the releases that `lint` and `why` have for them.

The names were read by AST from twelve libraries (attorch, gemlite, conch, xformers, lightllm, fla-core, liger-kernel,
unsloth, FlagGems, AITER, SageAttention, triton_kernels), with those that torch and reports name; each was then imported
on all eleven releases (2026-11-26).
"""

import pytest

from crosswarp.matrix.facts import language_table
from crosswarp.matrix.linting.api import Api

# Name -> x where a real import found it, a letter for each release, oldest first.
FOUND = {
    "triton._C.libtriton.triton": "x----------",
    "triton._C.libtriton.ir": "-xxxxxxxxxx",
    "triton._C.libtriton.getenv": "------xxxxx",
    "triton._C.libtriton.native_specialize_impl": "-------xxxx",
    "triton._C.libtriton.make_tensordesc_args": "---------xx",
    "triton.ops": "xxx--------",
    "triton.ops.matmul_perf_model.early_config_prune": "xxx--------",
    "triton.ops.matmul_perf_model.estimate_matmul_time": "xxx--------",
    "triton.ops.blocksparse": "xxx--------",
    "triton.compiler.compiler.AttrsDescriptor": "xxxx-------",
    "triton.backends.compiler.AttrsDescriptor": "---x-------",
    "triton.compiler.compiler.triton_key": "-xxxxx-----",
    "triton.runtime.cache.triton_key": "------xxxxx",
    "triton.compiler.compiler.IRSource": "xxxxxxxxxxx",
    "triton.compiler.compiler.make_backend": "-xxxxxxxxxx",
    "triton.compiler.compiler.LazyDict": "-xxxxxxxxxx",
    "triton.compiler.code_generator.kernel_suffix": "xxxx-------",
    "triton.compiler.code_generator.mangle_fn": "xxxxxxxxxxx",
    "triton.compiler.errors.CompileTimeAssertionFailure": "xxxxxxxxxxx",
    "triton.runtime.errors.PTXASError": "----xxxxxxx",
    "triton.runtime.errors.OutOfResources": "xxxxxxxxxxx",
    "triton.runtime.autotuner.OutOfResources": "xxxxxxxxxxx",
    "triton.runtime.jit.KernelParam": "xxxxxxxxxxx",
    "triton.runtime.jit.create_function_from_signature": "-xxxxxxxxxx",
    "triton.runtime.jit.create_specialize_impl": "----xxx----",
    "triton.runtime.jit.native_specialize_impl": "-------xxxx",
    "triton.runtime.jit.mangle_type": "-xxxxxxxxxx",
    "triton.runtime.jit.JITCallable": "------xxxxx",
    "triton.runtime.jit.constexpr_function": "------xxxxx",
    "triton.runtime.jit.JITFunction.cache_hook": "xxxxx------",
    "triton.runtime.cache.default_cache_dir": "xxxxx------",
    "triton.runtime.cache.make_so_cache_key": "-xxxxxxxxxx",
    "triton.runtime.build._build": "-xxxxxxxxxx",
    "triton.runtime.build._find_compiler": "---------xx",
    "triton.common.build._build": "x----------",
    "triton.common.build.libcuda_dirs": "x----------",
    "triton.common.backend.compute_core_version_key": "x----------",
    "triton.backends.backends": "-xxxxxxxxxx",
    "triton.backends.compiler.GPUTarget": "-xxxxxxxxxx",
    "triton.backends.driver.DriverBase": "-xxxxxxxxxx",
    "triton.backends.nvidia.driver.libcuda_dirs": "-xxxxxxxxxx",
    "triton.backends.nvidia.driver.compile_module_from_src": "-xxxxxxxx--",
    "triton.backends.nvidia.compiler._path_to_binary": "-xxxx------",
    "triton.language.semantic.to_tensor": "---xx------",
    "triton.language.semantic.TritonSemantic": "-----xxxxxx",
    "triton.language.core._experimental_descriptor_load": "-xxxx------",
    "triton.language.core._constexpr_to_value": "xxxxx------",
    "triton.language.core.get_int_dtype": "-xxxxxxxxxx",
    "triton.language.core.CONSTEXPR_0": "-xxxxxxxxxx",
    "triton.language.core._aggregate": "-----xxxxxx",
    "triton.language.standard._log2": "xxxxxxxxxxx",
    "triton.language.math.fast_expf": "x----------",
    "triton.language.math.tanh": "x----------",
    "triton.tools.experimental_descriptor": "---xx------",
    "triton.tools.tensor_descriptor.TensorDescriptor": "-----xxxxxx",
    "triton.tools.ragged_tma.load_ragged": "------xxxxx",
    "triton.set_allocator": "----xxxxxxx",
    "triton.constexpr_function": "------xxxxx",
    "triton.knobs": "-----xxxxxx",
    "triton.testing.nvsmi": "xxxxxxxxxxx",
    # Gone before the oldest: read as text in the sources of all eleven (2026-11-27).
    "triton.runtime.jit.get_cuda_stream": "-----------",
    "triton.compiler.compiler.get_arch_default_num_warps": "-----------",
    "triton.language.libdevice.exp": "-----------",
    "triton.code_gen.Config": "-----------",
}


@pytest.fixture(scope="module")
def api():
    return Api(language_table.load())


@pytest.mark.parametrize("name", FOUND)
def test_a_name_from_the_inside_is_known_on_the_releases_that_have_it(api, name):
    said = "".join("-" if api.missing(one, name) else "x" for one in api.releases)
    assert said == FOUND[name]


def test_a_private_value_of_another_type_is_not_said_to_be_missing(api):
    """`_allocator` is an instance of a class of Triton's up to 3.5, and a ContextVar later: it is there."""
    name = "triton.runtime._allocation._allocator"
    assert [api.missing(one, name) for one in ("3.4.0", "3.6.0", "3.9.0")] == [None, None, None]
    assert api.missing("3.2.0", name) == "triton.runtime._allocation"
