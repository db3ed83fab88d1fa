"""To which types `autocast("cuda")` casts: torch's operators by policy.

Source: PyTorch's aten/src/ATen/autocast_mode.h (the lists AT_FORALL_…) and autocast_mode.cpp, v2.3.1 to
v2.15.0; the page "Automatic Mixed Precision package", section "CUDA Ops". Names are those of the dispatcher, without
``aten::``; operators that a version of torch lacks, or does not cast, are left alone.
"""

# AT_FORALL_LOWER_PRECISION_FP: to the type that was asked for.
LOWER = frozenset(
    """_convolution _convolution.deprecated convolution conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input prelu addmm addmv addr matmul einsum mm mv linalg_vecdot
    linear addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell
    lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell _scaled_dot_product_flash_attention
    scaled_dot_product_attention""".split()
)
# AT_FORALL_FP32: to float32.
FLOAT32 = frozenset(
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar
    pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm group_norm rms_norm frobenius_norm.dim
    nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d
    hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
    multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d upsample_nearest2d
    upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
    _upsample_bicubic2d_aa""".split()
)
# AT_FORALL_FP32_SET_OPT_DTYPE: computed in float32, by their argument dtype, where the caller gives none.
DTYPE = frozenset(
    """prod prod.dim_int prod.dim_Dimname softmax.int softmax.Dimname log_softmax.int log_softmax.Dimname cumprod
    cumprod.dimname cumsum cumsum.dimname linalg_vector_norm linalg_matrix_norm linalg_matrix_norm.str_ord sum
    sum.dim_IntList sum.dim_DimnameList""".split()
)
# AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE: likewise, by the overload that has such an argument.
OVERLOAD = {
    "norm.Scalar": "norm.ScalarOpt_dtype",
    "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype",
    "norm.names_ScalarOpt_dim": "norm.names_ScalarOpt_dim_dtype",
}
# AT_FORALL_PROMOTE: to the widest of their arguments' types.
PROMOTE = frozenset(
    """addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add""".split()
)
# Refused, since it overflows in float16.
BANNED = frozenset(("binary_cross_entropy",))
# Cast by both in torch 2.15, and in no list that a wheel of torch shows: left as the CPU has it.
UNLISTED = frozenset(("linalg_matrix_sqrth",))
# Cast as well, and never reached by a tensor whose storage is on the CPU.
CUDNN = frozenset(("cudnn_convolution", "cudnn_convolution_transpose", "_cudnn_rnn"))
