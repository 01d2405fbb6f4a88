"""The quantizer's log as numbers: lines as llama.cpp writes them."""

from runtime.quantize_log import failure, result_bytes, tensor_bytes

CHANGED = (
    "[   7/ 272] blk.0.ffn_down.weight                - [ 1536,   576,     1,     1], type =    f16, "
    "converting to q6_K .. size =     1.50 MiB ->     0.62 MiB"
)
KEPT = "[   1/ 272] output_norm.weight - [   576,     1,     1,     1], type =    f32, size =    0.002 MiB"


def test_a_tensor_that_is_done() -> None:
    assert tensor_bytes(CHANGED) == 3 << 19
    assert tensor_bytes(KEPT) == 2097


def test_other_lines_tell_of_no_tensor() -> None:
    assert tensor_bytes("llama_model_loader: - type  f16:  211 tensors") == 0
    assert tensor_bytes("llama_model_quantize_impl: model size  =   256.63 MiB (16.00 BPW)") == 0


def test_the_size_of_the_result() -> None:
    lines = [KEPT, "x: model size  =   256.50 MiB (16.00 BPW)", "x: quant size  =   100.25 MiB (6.26 BPW)"]
    assert result_bytes(lines) == 401 << 18
    assert result_bytes([KEPT]) is None


def test_why_it_failed() -> None:
    line = "llama_model_quantize: failed to quantize: requantizing from type q4_1 is disabled"
    assert failure([KEPT, line]) == "requantizing from type q4_1 is disabled"
    assert failure([KEPT]) == ""
